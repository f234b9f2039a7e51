#include "launcher/doctor/name_probe.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/udp.hpp>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <sstream>
#include <utility>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/system/left_behind.hpp"
#include "base/text.hpp"
#include "launcher/doctor/bench/ms_since.hpp"
#include "launcher/doctor/reading_json.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;
using boost::asio::ip::make_address;
using boost::asio::ip::udp;

constexpr std::size_t kNameServersMax = 8;  // the resolver of glibc takes 3
constexpr auto kServerTimeout = 1s;

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

/// "Which address has localhost?" (RFC 1035). Each server knows that without asking another one.
constexpr std::array<unsigned char, 27> kQuestion = {
    0x64, 0x64, 0x01, 0x00, 0,   1,   0,   0,   0,   0,   0, 0,  // id, recursion, one question
    9,    'l',  'o',  'c',  'a', 'l', 'h', 'o', 's', 't', 0,     // the name
    0,    1,    0,    1};                                        // A, IN

/// Sends the question, and returns the socket; a closed one if it cannot be sent.
Descriptor send_question(const std::string& server) {
  boost::system::error_code error;
  const udp::endpoint endpoint{make_address(server, error), 53};
  if (error) return Descriptor{};
  Descriptor socket{
      ::socket(endpoint.protocol().family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!socket.is_open() ||
      ::connect(socket.number(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0 ||
      ::send(socket.number(), kQuestion.data(), kQuestion.size(), 0) < 0)
    return Descriptor{};
  return socket;
}

/// Whether an answer has come, and not an error because no process listens there.
bool has_answer(const Descriptor& socket) {
  std::array<char, 512> answer{};
  return ::recv(socket.number(), answer.data(), answer.size(), 0) > 0;
}

}  // namespace

LookupReading look_up_name(const std::string& name) {
  LookupReading reading{.question = name};
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const TimePoint begin = Clock::now();
  const int code = ::getaddrinfo(name.c_str(), nullptr, &wanted, &list);
  reading.ms = ms_since(begin);
  const std::unique_ptr<addrinfo, FreeAddresses> owned{list};
  if (code != 0) reading.error = ::gai_strerror(code);
  for (const addrinfo* each = list; code == 0 && each != nullptr; each = each->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(each->ai_addr, each->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0)
      reading.answers.emplace_back(text.data());
  }
  return reading;
}

LookupReading look_up_address(const std::string& address) {
  LookupReading reading{.question = address};
  boost::system::error_code error;
  const udp::endpoint endpoint{make_address(address, error), 0};
  std::array<char, NI_MAXHOST> text{};
  const TimePoint begin = Clock::now();
  const int code = ::getnameinfo(endpoint.data(), static_cast<socklen_t>(endpoint.size()),
                                 text.data(), text.size(), nullptr, 0, NI_NAMEREQD);
  reading.ms = ms_since(begin);
  if (code == 0)
    reading.answers.emplace_back(text.data());
  else
    reading.error = ::gai_strerror(code);
  return reading;
}

std::vector<std::string> name_servers_in(const std::string& text) {
  std::vector<std::string> servers;
  for (const std::string& line : split_lines(text)) {
    std::istringstream words{line};
    std::string first, address;
    if (words >> first >> address && first == "nameserver" && servers.size() < kNameServersMax)
      servers.push_back(address);
  }
  return servers;
}

std::vector<NameServerReading> ask_name_servers(const std::vector<std::string>& addresses) {
  const TimePoint begin = Clock::now();
  std::vector<NameServerReading> readings;
  std::vector<Descriptor> sockets;
  std::vector<pollfd> waiting;  // those that are closed or have answered are -1, which poll skips
  for (const std::string& address : addresses) {
    readings.push_back({.address = address, .answer_ms = {}});
    sockets.push_back(send_question(address));
    waiting.push_back({.fd = sockets.back().number(), .events = POLLIN, .revents = 0});
  }
  const auto open = [](const pollfd& entry) { return entry.fd >= 0; };
  while (std::ranges::any_of(waiting, open)) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(begin + kServerTimeout - Clock::now());
    if (left <= 0ms) break;
    ::poll(waiting.data(), waiting.size(), static_cast<int>(left.count()));
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
      if (has_answer(sockets[i])) readings[i].answer_ms = ms_since(begin);
      waiting[i].fd = -1;
    }
  }
  return readings;
}

namespace {

using namespace std::chrono_literals;

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
  child_.emplace(AskedChild::start(kChildTimeout, [this] {
    // The process ends with this answer, and its threads with it.
    return to_line(
        NodeReading{.peers = {.peer_names = std::make_shared<Lookups>(readings_)->look_up_all()}});
  }));
}

std::vector<PeerNameReading> PeerNames::answers() {
  if (!child_) return {};
  const auto answer = child_->answer();
  if (!answer && answer.error().kind != Error::Kind::kTimeout) return {};  // nobody has asked
  if (auto told = answer ? parse_reading(*answer) : Result<NodeReading>{answer.error()})
    readings_ = std::move(told->peers.peer_names);
  return readings_;
}

}  // namespace ddprun
