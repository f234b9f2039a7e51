#include "base/lookup_error.hpp"

#include <boost/asio/error.hpp>

namespace ddprun {

std::string lookup_error(const std::string& host, const boost::system::error_code& error) {
  namespace errors = boost::asio::error;
  const std::string nowhere = "there is no address for the name '" + host + "'";
  if (error == errors::host_not_found || error == errors::no_data)
    return nowhere + " (is it spelled right?)";
  if (error == errors::host_not_found_try_again)
    return nowhere + " (no name server told one: is the name right, and the network up?)";
  return nowhere + " (" + error.message() + ")";
}

}  // namespace ddprun
