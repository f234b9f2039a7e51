// ChildServer: a process of this one that listens at a free port, while this one does something
// else.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <functional>

#include "base/asio.hpp"
#include "base/process/query_process.hpp"
#include "base/result.hpp"

namespace ddprun {

struct ChildServer {
  QueryProcess process;  // it ends with this
  std::uint16_t port = 0;
};

/// Serves one connection in the event loop of that executor.
using ServeOne = std::function<void(const asio::any_io_executor&, asio::ip::tcp::socket)>;

/// Starts one that listens at all addresses, of IPv6, too, where the kernel has it, for at most
/// `timeout`. Its process calls `begin` first. To be called while there is one thread. Errors:
/// kUnavailable, as listen_on() says it.
Result<ChildServer> start_child_server(
    std::chrono::milliseconds timeout, const ServeOne& serve,
    const std::function<void()>& begin = [] {});

}  // namespace ddprun
