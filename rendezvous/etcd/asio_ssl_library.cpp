// The part of Asio that speaks TLS, compiled once: see BOOST_ASIO_SEPARATE_COMPILATION. Only etcd
// uses it.
#include <boost/asio/ssl/impl/src.hpp>
