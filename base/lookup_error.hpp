// Says in a sentence why a name has led to no host, for whoever asks the system's resolver.
#pragma once

#include <boost/system/error_code.hpp>
#include <string>

namespace ddprun {

/// `error` is that of a resolver of Asio, whose own words are those of the name server's protocol.
std::string lookup_error(const std::string& host, const boost::system::error_code& error);

}  // namespace ddprun
