#include "base/process/child_server.hpp"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <utility>

#include "base/coroutines.hpp"
#include "base/system/accept.hpp"

namespace ddprun {

namespace {

using asio::ip::tcp;

Result<tcp::acceptor> listen_anywhere(const asio::any_io_executor& executor) {
  auto acceptor = listen_on(executor, {tcp::v6(), 0});
  return acceptor ? std::move(acceptor) : listen_on(executor, {tcp::v4(), 0});
}

}  // namespace

Result<ChildServer> start_child_server(std::chrono::milliseconds timeout, const ServeOne& serve,
                                       const std::function<void()>& begin) {
  asio::io_context io{1};
  auto acceptor = listen_anywhere(io.get_executor());
  if (!acceptor) return acceptor.error();
  const tcp::endpoint endpoint = acceptor->local_endpoint();
  const int listening = acceptor->release();
  // The loop of the parent does not survive a fork as it is, so the child has one of its own.
  auto process = QueryProcess::start(timeout, [&] {
    begin();
    asio::io_context loop{1};
    tcp::acceptor here{loop};
    here.assign(endpoint.protocol(), listening);
    const auto serve_one = [&](tcp::socket socket) {
      serve(loop.get_executor(), std::move(socket));
    };
    start_coroutine(loop, accept_all(here, serve_one), report_failure("waiting for other nodes"));
    loop.run_for(timeout);
    return std::string{"over"};
  });
  ::close(listening);
  return ChildServer{std::move(process), endpoint.port()};
}

}  // namespace ddprun
