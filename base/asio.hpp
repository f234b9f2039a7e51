// The short name of Boost.Asio. This header includes nothing of it, so that a pure file does not
// compile the whole library because it names a type of a file that uses it.
#pragma once

namespace boost::asio {}

namespace ddprun {

namespace asio = boost::asio;

}  // namespace ddprun
