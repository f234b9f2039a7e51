// The short name of Boost.Asio. This header includes nothing of it, so that who needs the name
// alone does not compile the library.
#pragma once

namespace boost::asio {}

namespace ddprun {

namespace asio = boost::asio;

}  // namespace ddprun
