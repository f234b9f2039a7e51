#include "launcher/doctor/link_probe.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "base/asio.hpp"
#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/process/file_limit.hpp"
#include "launcher/doctor/bench/ms_since.hpp"
#include "launcher/doctor/interface_choice.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;
using asio::as_tuple;
using asio::use_awaitable;
using asio::ip::tcp;

constexpr auto kEchoTimeout = 2min;  // its node ends it before
constexpr auto kVisitTimeout = 2s;
constexpr auto kVisitsTimeout = 12s;  // all of them, which the launcher awaits
constexpr std::size_t kShortBytes = 64;
constexpr int kShortTimes = 3;
constexpr std::size_t kLongBytes = 32 * 1024;  // some packets, whatever the MTU
constexpr int kLongTimes = 2;
constexpr rlim_t kOtherFiles = 48;  // files of this process that are no visits
constexpr rlim_t kVisitsMin = 16;

// --- the side that listens ---

asio::awaitable<void> echo_to(tcp::socket socket, const std::string& token) {
  std::string shown(token.size(), '\0');
  const auto [error, bytes] =
      co_await asio::async_read(socket, asio::buffer(shown), as_tuple(use_awaitable));
  if (error || shown != token) co_return;
  std::array<char, 16 * 1024> chunk{};
  for (;;) {
    const auto [read_error, got] =
        co_await socket.async_read_some(asio::buffer(chunk), as_tuple(use_awaitable));
    if (read_error) co_return;
    const auto [write_error, sent] =
        co_await asio::async_write(socket, asio::buffer(chunk, got), as_tuple(use_awaitable));
    if (write_error) co_return;
  }
}

// --- the side that connects ---

std::string words_of_error(const boost::system::error_code& error) {
  return error == asio::error::operation_aborted ? "no answer within 2 s" : error.message();
}

void note_interface(const tcp::socket& socket, const std::vector<InterfaceReading>& interfaces,
                    LinkReading& link) {
  boost::system::error_code error;
  const std::string own = socket.local_endpoint(error).address().to_string();
  if (const auto* const interface = interface_with(own, interfaces)) {
    link.interface = interface->name;
    link.mtu = interface->mtu;
  }
}

/// A connection to another node, which is closed when nothing has come for too long.
struct Visit {
  explicit Visit(const asio::any_io_executor& executor) : socket{executor}, deadline{executor} {}

  void wait_at_most(const std::shared_ptr<Visit>& held) {
    deadline.expires_after(kVisitTimeout);
    deadline.async_wait([held](boost::system::error_code error) {
      boost::system::error_code ignored;
      if (!error) held->socket.close(ignored);
    });
  }

  tcp::socket socket;
  asio::steady_timer deadline;
};

/// Sends that many bytes and takes them back. Each one that arrives restarts their deadline, so
/// that a slow link does not look like one that loses them.
asio::awaitable<boost::system::error_code> exchange(std::shared_ptr<Visit> visit, std::string bytes,
                                                    std::size_t back) {
  visit->wait_at_most(visit);
  const auto [write_error, sent] =
      co_await asio::async_write(visit->socket, asio::buffer(bytes), as_tuple(use_awaitable));
  if (write_error) co_return write_error;
  std::array<char, 16 * 1024> chunk{};
  while (back > 0) {
    const auto [error, got] = co_await visit->socket.async_read_some(
        asio::buffer(chunk.data(), std::min(back, chunk.size())), as_tuple(use_awaitable));
    if (error) co_return error;
    back -= got;
    visit->wait_at_most(visit);
  }
  co_return boost::system::error_code{};
}

/// Exchanges short messages, and then long ones.
asio::awaitable<void> talk(std::shared_ptr<Visit> visit, const std::string& token, TimePoint begin,
                           LinkReading& link) {
  auto error = co_await exchange(visit, token + std::string(kShortBytes, 's'), kShortBytes);
  if (!error) link.ms = ms_since(begin);
  for (int times = 0; !error && times < kShortTimes; ++times) {
    const TimePoint sent = Clock::now();
    error = co_await exchange(visit, std::string(kShortBytes, 's'), kShortBytes);
    const double ms = ms_since(sent);
    if (!error) link.rtt_ms = std::min(ms, link.rtt_ms.value_or(ms));
  }
  link.error = error ? words_of_error(error) : "";
  for (int times = 0; !error && times < kLongTimes; ++times)
    error = co_await exchange(visit, std::string(kLongBytes, 'l'), kLongBytes);
  link.small_only = error && link.error.empty();
}

asio::awaitable<void> visit(const Peer& peer, const std::string& token,
                            const std::vector<InterfaceReading>& interfaces, LinkReading& link) {
  const TimePoint begin = Clock::now();
  boost::system::error_code no_address;
  const tcp::endpoint endpoint{asio::ip::make_address(peer.host, no_address), peer.port};
  if (no_address) {
    link.error = "it has told no address";
    co_return;
  }
  const auto visit = std::make_shared<Visit>(co_await asio::this_coro::executor);
  visit->wait_at_most(visit);
  const auto [error] = co_await visit->socket.async_connect(endpoint, as_tuple(use_awaitable));
  if (error) {
    link.error = words_of_error(error);
  } else {
    note_interface(visit->socket, interfaces, link);
    co_await talk(visit, token, begin, link);
  }
  visit->deadline.cancel();
  boost::system::error_code ignored;
  visit->socket.close(ignored);  // the deadline's handler holds it for a while
}

/// Each visit has a file, and all of them begin at the same time if the system allows as many.
rlim_t visits_at_one_time() {
  static_cast<void>(raise_file_limit("ddprun doctor", 0));
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return kVisitsMin;
  return std::max(files.rlim_cur - std::min(files.rlim_cur, kOtherFiles), kVisitsMin);
}

/// The visits to all peers, of which each coroutine of some() makes one after the other.
class Visits {
 public:
  Visits(const std::vector<Peer>& peers, const std::string& token,
         const std::vector<InterfaceReading>& interfaces)
      : peers_{peers}, token_{token}, interfaces_{interfaces}, links_(peers.size()) {}

  asio::awaitable<void> some() {
    while (begun_ < peers_.size()) {
      const Peer& peer = peers_[begun_];
      LinkReading& link = links_[begun_++];
      link.node = peer.node;
      link.use = peer.use;
      link.address = peer.host + " port " + std::to_string(peer.port);
      link.error = "no answer within 12 s";
      co_await visit(peer, token_, interfaces_, link);
    }
  }

  /// Leaves out those for which there was no time.
  std::vector<LinkReading> take() {
    links_.resize(begun_);
    return std::move(links_);
  }

 private:
  const std::vector<Peer>& peers_;
  const std::string& token_;
  const std::vector<InterfaceReading>& interfaces_;
  std::vector<LinkReading> links_;
  std::size_t begun_ = 0;
};

}  // namespace

Result<ChildServer> start_echo(const std::string& token) {
  const auto echo_one = [&](const asio::any_io_executor& executor, tcp::socket socket) {
    start_coroutine(executor, echo_to(std::move(socket), token),
                    report_failure("answering another node"));
  };
  return start_child_server(kEchoTimeout, echo_one, [] {
    static_cast<void>(raise_file_limit("ddprun doctor", 0));  // all nodes come at the same time
  });
}

std::vector<LinkReading> visit_peers(const std::vector<Peer>& peers, const std::string& token,
                                     const std::vector<InterfaceReading>& interfaces) {
  Visits visits{peers, token, interfaces};
  asio::io_context io{1};
  const rlim_t at_one_time = std::min<rlim_t>(visits_at_one_time(), peers.size());
  for (rlim_t i = 0; i < at_one_time; ++i)
    start_coroutine(io, visits.some(), report_failure("connecting to another node"));
  io.run_for(kVisitsTimeout);
  return visits.take();
}

}  // namespace ddprun
