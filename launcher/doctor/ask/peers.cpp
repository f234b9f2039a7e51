#include "launcher/doctor/ask/peers.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/asio.hpp"
#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/process/file_limit.hpp"
#include "base/system/left_behind.hpp"
#include "launcher/doctor/read/addresses.hpp"
#include "launcher/doctor/read/name_probe.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;
using asio::as_tuple;
using asio::use_awaitable;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kVisitTimeout = 2s;
constexpr auto kVisitsTimeout = 12s;  // all of them, which the launcher awaits
constexpr std::size_t kShortBytes = 64;
constexpr int kShortTimes = 3;
constexpr std::size_t kLongBytes = 32 * 1024;  // some packets, whatever the MTU
constexpr int kLongTimes = 2;
constexpr rlim_t kOtherFiles = 48;  // files of this process that are no visits
constexpr rlim_t kVisitsMin = 16;

/// Waits until something on a connection has ended, and returns its error. Too late counts as
/// operation_aborted.
template <typename... Results>
asio::awaitable<std::tuple<error_code, Results...>> soon(
    asio::awaitable<std::tuple<error_code, Results...>> operation) {
  std::tuple<error_code, Results...> late;
  std::get<0>(late) = asio::error::operation_aborted;
  const auto ended = co_await in_time(Clock::now() + kVisitTimeout, std::move(operation));
  co_return ended.value_or(late);
}

std::string words_of_error(const error_code& error) {
  return error == asio::error::operation_aborted ? "no answer within 2 s" : error.message();
}

void note_interface(const tcp::socket& socket, const std::vector<InterfaceReading>& interfaces,
                    LinkReading& link) {
  error_code error;
  const std::string own = socket.local_endpoint(error).address().to_string();
  if (const auto* const interface = interface_with(own, interfaces)) {
    link.interface = interface->name;
    link.mtu = interface->mtu;
  }
}

/// Sends that many bytes and takes `back` of them back. Each one that arrives restarts their
/// deadline, so that a slow link does not look like one that loses them.
asio::awaitable<error_code> exchange(tcp::socket& socket, std::string bytes, std::size_t back) {
  const auto [write_error, sent] =
      co_await soon(asio::async_write(socket, asio::buffer(bytes), as_tuple(use_awaitable)));
  if (write_error) co_return write_error;
  while (back > 0) {
    const auto [error, got] = co_await soon(socket.async_read_some(
        asio::buffer(bytes, std::min(back, bytes.size())), as_tuple(use_awaitable)));
    if (error) co_return error;
    back -= got;
  }
  co_return error_code{};
}

/// Exchanges short messages, and then long ones.
asio::awaitable<void> talk(tcp::socket& socket, const std::string& token, TimePoint begin,
                           LinkReading& link) {
  auto error = co_await exchange(socket, token + std::string(kShortBytes, 's'), kShortBytes);
  if (!error) link.ms = ms_since(begin);
  for (int times = 0; !error && times < kShortTimes; ++times) {
    const TimePoint sent = Clock::now();
    error = co_await exchange(socket, std::string(kShortBytes, 's'), kShortBytes);
    const double ms = ms_since(sent);
    if (!error) link.rtt_ms = std::min(ms, link.rtt_ms.value_or(ms));
  }
  link.error = error ? words_of_error(error) : "";
  for (int times = 0; !error && times < kLongTimes; ++times)
    error = co_await exchange(socket, std::string(kLongBytes, 'l'), kLongBytes);
  link.small_only = error && link.error.empty();
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
      co_await visit_one(peer, link);
    }
  }

  /// Leaves out those for which there was no time.
  std::vector<LinkReading> take() {
    links_.resize(begun_);
    return std::move(links_);
  }

 private:
  asio::awaitable<void> visit_one(const Peer& peer, LinkReading& link) {
    const TimePoint begin = Clock::now();
    error_code no_address;
    const tcp::endpoint endpoint{asio::ip::make_address(peer.host, no_address), peer.port};
    if (no_address) {
      link.error = "it has told no address";
      co_return;
    }
    tcp::socket socket{co_await asio::this_coro::executor};
    const auto [error] = co_await soon(socket.async_connect(endpoint, as_tuple(use_awaitable)));
    if (error) {
      link.error = words_of_error(error);
      co_return;
    }
    note_interface(socket, interfaces_, link);
    co_await talk(socket, token_, begin, link);
  }

  const std::vector<Peer>& peers_;
  const std::string& token_;
  const std::vector<InterfaceReading>& interfaces_;
  std::vector<LinkReading> links_;
  std::size_t begun_ = 0;
};

}  // namespace

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

namespace {

constexpr auto kNamesTimeout = 3s;
// Its answer is read after the other nodes were visited, which takes up to 12 s, and the launcher
// waits for 15 s. What does not fit into the pipe is written only then.
constexpr auto kChildTimeout = 14s;
constexpr std::size_t kThreadsMax = 16;

/// Names that several threads look up. A thread that waits for a dead server is left behind.
class Lookups : public std::enable_shared_from_this<Lookups> {
 public:
  explicit Lookups(std::vector<PeerNameReading> readings) : readings_{std::move(readings)} {}

  /// Returns what is known when all are done, or when the time is over.
  std::vector<PeerNameReading> look_up_all() {
    if (start_threads() == 0) look_up_some();
    std::unique_lock lock{mutex_};
    all_done_.wait_for(lock, kNamesTimeout, [this] { return done_ == readings_.size(); });
    return readings_;
  }

 private:
  /// Returns how many there are. The user's limit of processes may allow no more (RLIMIT_NPROC).
  std::size_t start_threads() {
    const std::size_t wanted = std::min(readings_.size(), kThreadsMax);
    std::size_t started = 0;
    while (started < wanted &&
           start_left_behind([held = shared_from_this()] { held->look_up_some(); }))
      ++started;
    return started;
  }

  void look_up_some() {
    std::unique_lock lock{mutex_};
    while (next_ < readings_.size()) {
      const std::size_t mine = next_++;
      const std::string name = readings_[mine].lookup.question;
      lock.unlock();
      LookupReading found = look_up_name(name);
      lock.lock();
      readings_[mine].lookup = std::move(found);
      if (++done_ == readings_.size()) all_done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable all_done_;
  std::vector<PeerNameReading> readings_;
  std::size_t next_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

PeerNames::PeerNames(const std::vector<Peer>& peers) {
  for (const Peer& peer : peers)
    if (!peer.name.empty()) readings_.push_back({peer.node, LookupReading{.question = peer.name}});
  if (readings_.empty()) return;
  child_.emplace(QueryProcess::start(kChildTimeout, [this] {
    // The process ends with this answer, and its threads with it.
    return to_line(
        NodeReading{.peers = {.peer_names = std::make_shared<Lookups>(readings_)->look_up_all()}});
  }));
}

std::vector<PeerNameReading> PeerNames::answers() {
  if (!child_) return {};
  const auto answer = child_->answer();
  if (!answer && answer.error().kind != Error::Kind::kTimeout) return {};  // not asked for
  if (auto told = answer ? parse_reading(*answer) : Result<NodeReading>{answer.error()})
    readings_ = std::move(told->peers.peer_names);
  return readings_;
}

SharedFile::SharedFile(const std::string& folder, const std::string& token, const std::string& node)
    : folder_{folder}, prefix_{".ddprun-doctor-" + token + "-"} {
  if (folder.empty()) return;
  path_ = folder_ / (prefix_ + node);
  const int file = ::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) {
    path_.clear();
    return;
  }
  ::close(file);
}

SharedFile::~SharedFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

std::optional<std::vector<std::string>> SharedFile::owners() const {
  if (path_.empty()) return std::nullopt;
  std::vector<std::string> nodes;
  std::error_code error;
  for (std::filesystem::directory_iterator entry{folder_, error}, end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(prefix_)) nodes.push_back(name.substr(prefix_.size()));
  }
  return nodes;
}

}  // namespace ddprun
