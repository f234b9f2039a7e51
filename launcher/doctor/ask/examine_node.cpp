#include "launcher/doctor/ask/examine_node.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/match.hpp"
#include "base/system/own_process.hpp"
#include "launcher/doctor/ask/doctor_messages.hpp"
#include "launcher/doctor/ask/links.hpp"
#include "launcher/doctor/ask/peers.hpp"
#include "launcher/doctor/ask/progress_line.hpp"
#include "launcher/doctor/bench/measure_node.hpp"
#include "launcher/doctor/check/checks.hpp"
#include "launcher/doctor/read/addresses.hpp"
#include "launcher/doctor/read/gather.hpp"
#include "launcher/run/own_address.hpp"
#include "launcher/settings/this_machine.hpp"

namespace ddprun {

namespace {

NodeSpeeds measure_read_node(const NodeReading& reading) {
  const MemoryReading& memory = reading.memory;
  std::int64_t free = memory.available_bytes.value_or(0);
  if (memory.cgroup_max_bytes && *memory.cgroup_max_bytes != kUnlimited)
    free = std::min(free, *memory.cgroup_max_bytes - memory.cgroup_used_bytes.value_or(0));
  return measure_node(reading.node, {.cpu_quota = reading.cpus.quota, .free_bytes = free});
}

}  // namespace

NodeSpeeds measure_until_sure(const NodeReading& reading) {
  ProgressLine progress;
  progress.show("measuring CPUs and memory");
  NodeSpeeds speeds = measure_read_node(reading);
  if (doubtful_nodes({speeds}).empty()) return speeds;
  progress.show("measuring CPUs and memory once more");
  return better_of(std::move(speeds), measure_read_node(reading));
}

namespace {

using namespace std::chrono_literals;

// A launcher that has gone ends standard input. These are for one whose end goes unnoticed.
constexpr auto kQuestionTimeout = 2min;
constexpr auto kBenchTimeout =
    30min;  // nodes that share a machine are measured one after the other
constexpr std::size_t kQuestionBytesMax = 4 * 1024 * 1024;

/// Reads lines of standard input.
class LauncherLines {
 public:
  /// nullopt: the launcher has gone.
  std::optional<std::string> next(std::chrono::milliseconds timeout) {
    const TimePoint deadline = Clock::now() + timeout;
    for (;;) {
      if (const std::size_t end = inbox_.find('\n'); end != std::string::npos) {
        std::string line = inbox_.substr(0, end);
        inbox_.erase(0, end + 1);
        return line;
      }
      if (inbox_.size() > kQuestionBytesMax || !read_some(deadline)) return std::nullopt;
    }
  }

 private:
  bool read_some(TimePoint deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd entry{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (left <= 0ms || ::poll(&entry, 1, static_cast<int>(left.count())) <= 0) return false;
    std::array<char, 4096> chunk{};
    const ssize_t bytes = ::read(STDIN_FILENO, chunk.data(), chunk.size());
    if (bytes <= 0) return false;
    inbox_.append(chunk.data(), static_cast<std::size_t>(bytes));
    return true;
  }

  std::string inbox_;
};

std::string address_for_peers(const NodeReading& reading) {
  if (auto address = address_of_login(own_variable)) return *std::move(address);
  const std::string first = first_address(reading);
  return first.empty() ? "127.0.0.1" : first;
}

void say(const FromNode& message) {
  const std::string line = encode(message);
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t written = ::write(STDOUT_FILENO, line.data() + sent, line.size() - sent);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    sent += static_cast<std::size_t>(written);
  }
}

/// What is known from the first question on.
struct Examination {
  Examine wish;
  NodeReading reading;
  std::optional<ChildServer> echo;
  std::unique_ptr<SharedFile> checkpoint;
  std::unique_ptr<SharedFile> log;
  std::optional<ChildServer> bench;
  bool measures = false;  // the launcher has begun to measure
};

/// Only a folder that could be written to is tried, because another one may hang.
std::unique_ptr<SharedFile> share(const std::string& role, const Examine& wish,
                                  const std::vector<FolderReading>& folders) {
  const auto folder = std::ranges::find(folders, role, &FolderReading::role);
  const bool tried = folder != folders.end() && folder->error.empty();
  return std::make_unique<SharedFile>(tried ? folder->path : "", wish.token, wish.node);
}

std::optional<std::vector<std::string>> owners_of(const std::unique_ptr<SharedFile>& file) {
  return file ? file->owners() : std::nullopt;
}

/// Keeps a server that has been started, and returns its port; 0: there is none.
std::uint16_t port_of(Result<ChildServer> started, std::optional<ChildServer>& server) {
  server.reset();
  if (!started) return 0;
  server.emplace(std::move(*started));
  return server->port;
}

void visit(const std::vector<Peer>& peers, const Examination& examination) {
  PeerNames names{peers};
  auto links = visit_peers(peers, examination.wish.token, examination.reading.interfaces);
  say(PeersVisited{{.links = std::move(links),
                    .peer_names = names.answers(),
                    .shares_with = owners_of(examination.checkpoint),
                    .shares_logs_with = owners_of(examination.log)}});
}

void examine(Examine wish, Examination& examination) {
  for (const auto& [name, value] : wish.environment) ::setenv(name.c_str(), value.c_str(), 1);
  const bool settled = wish.directory.empty() || ::chdir(wish.directory.c_str()) == 0;
  const std::string why_not = settled ? "" : std::strerror(errno);
  const std::uint16_t port = port_of(start_echo(wish.token), examination.echo);
  const ReadingOptions options{wish.log_dir, wish.checkpoint_dir, wish.script,
                               wish.keeps_checkpoints};
  examination.reading = read_this_node(options, this_machine(own_variable));
  std::vector<FolderReading>& folders = examination.reading.folders;
  examination.checkpoint = share("checkpoints", wish, folders);
  examination.log = share("logs", wish, folders);
  if (!settled) folders.push_back({.role = "working", .path = wish.directory, .error = why_not});
  examination.reading.node = wish.node;
  examination.wish = std::move(wish);
  say(Examined{examination.reading, address_for_peers(examination.reading), port});
}

}  // namespace

int examine_for_launcher() {
  LauncherLines lines;
  Examination examination;
  const auto patience = [&] {
    return std::chrono::milliseconds{examination.measures ? kBenchTimeout : kQuestionTimeout};
  };
  while (const auto line = lines.next(patience())) {
    auto message = decode_to_node(*line);
    if (!message) return 2;
    match(
        std::move(*message), [&](Examine&& wish) { examine(std::move(wish), examination); },
        [](AskClock&&) { say(ClockTold{unix_time_us()}); },
        [&](VisitPeers&& wish) { visit(wish.peers, examination); },
        [&](PrepareBench&&) {
          examination.measures = true;
          say(BenchReady{machine_identity(),
                         port_of(start_link_server(examination.wish.token), examination.bench)});
        },
        [&](MeasureNode&&) { say(NodeMeasured{measure_read_node(examination.reading)}); },
        [&](MeasureLink&& link) {
          say(LinkMeasured{measure_link(examination.wish.node, link.peer, examination.wish.token)});
        });
  }
  return 0;
}

}  // namespace ddprun
