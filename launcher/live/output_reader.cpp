#include "launcher/live/output_reader.hpp"

#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/coroutines.hpp"

namespace ddprun {

asio::awaitable<void> reader_leaves(int fd) {
  asio::posix::stream_descriptor output{co_await asio::this_coro::executor};
  boost::system::error_code refused;  // the wait says it again
  output.assign(::dup(fd), refused);
  const auto [not_watched] = co_await output.async_wait(asio::posix::stream_descriptor::wait_error,
                                                        asio::as_tuple(asio::use_awaitable));
  if (not_watched) co_await until(TimePoint::max());  // as it is a file
}

}  // namespace ddprun
