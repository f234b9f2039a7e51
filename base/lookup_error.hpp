// Explains in a sentence why the system's resolver found no host for a name.
#pragma once

#include <boost/system/error_code.hpp>
#include <string>

namespace ddprun {

/// `error` is that of a resolver of Asio, whose own words are those of the name server's protocol.
std::string lookup_error(const std::string& host, const boost::system::error_code& error);

}  // namespace ddprun
