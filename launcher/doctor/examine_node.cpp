#include "launcher/doctor/examine_node.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <boost/asio/ip/address.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/match.hpp"
#include "base/system/own_process.hpp"
#include "launcher/doctor/doctor_messages.hpp"
#include "launcher/doctor/gather.hpp"
#include "launcher/doctor/link_probe.hpp"
#include "launcher/doctor/unix_time_us.hpp"
#include "launcher/settings/this_machine.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr auto kQuestionTimeout = 2min;  // a launcher that is silent for so long has gone
constexpr std::size_t kQuestionBytesMax = 4 * 1024 * 1024;

/// Reads lines of standard input.
class LauncherLines {
 public:
  /// nullopt: the launcher has gone.
  std::optional<std::string> next() {
    const TimePoint deadline = Clock::now() + kQuestionTimeout;
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

/// Returns the address that ssh has come to, as long as other nodes can use it, else another one.
std::string address_for_peers(const NodeReading& reading) {
  std::istringstream connection{own_variable("SSH_CONNECTION").value_or("")};
  std::string client, client_port, address;
  connection >> client >> client_port >> address;
  boost::system::error_code no_address;
  const auto parsed = boost::asio::ip::make_address(address, no_address);
  if (!no_address && !parsed.is_loopback()) return address;
  for (const InterfaceReading& interface : reading.interfaces)
    if (interface.up && !interface.loopback && !interface.addresses.empty())
      return interface.addresses.front();
  return "127.0.0.1";
}

/// A file in the folder of checkpoints, which the other nodes look for. It is gone with this.
class SharedFile {
 public:
  SharedFile(const std::string& folder, const std::string& token, const std::string& node)
      : folder_{folder}, prefix_{".ddprun-doctor-" + token + "-"} {
    if (folder.empty()) return;
    path_ = folder_ / (prefix_ + node);
    const int file = ::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) {
      path_.clear();
      return;
    }
    ::fsync(file);
    ::close(file);
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  /// Returns the nodes whose files are there; nullopt when this one could not write its own.
  std::optional<std::vector<std::string>> owners() const {
    if (path_.empty()) return std::nullopt;
    std::vector<std::string> nodes;
    std::error_code error;
    for (fs::directory_iterator entry{folder_, error}, end; !error && entry != end;
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (name.starts_with(prefix_)) nodes.push_back(name.substr(prefix_.size()));
    }
    return nodes;
  }

 private:
  fs::path folder_;
  std::string prefix_;
  fs::path path_;  // empty: there is none
};

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
  std::optional<Echo> echo;
  std::unique_ptr<SharedFile> file;
};

void examine(Examine wish, Examination& examination) {
  for (const auto& [name, value] : wish.environment) ::setenv(name.c_str(), value.c_str(), 1);
  const bool settled = wish.directory.empty() || ::chdir(wish.directory.c_str()) == 0;
  const std::string why_not = settled ? "" : std::strerror(errno);
  auto echo = start_echo(wish.token);
  if (echo) examination.echo.emplace(std::move(*echo));
  examination.reading =
      read_this_node({wish.log_dir, wish.checkpoint_dir, wish.script}, this_machine(own_variable));
  std::vector<FolderReading>& folders = examination.reading.folders;
  const bool tried =
      !folders.empty() && folders.back().role == "checkpoints" && folders.back().error.empty();
  examination.file =
      std::make_unique<SharedFile>(tried ? wish.checkpoint_dir : "", wish.token, wish.node);
  if (!settled) folders.push_back({.role = "working", .path = wish.directory, .error = why_not});
  examination.reading.node = wish.node;
  examination.wish = std::move(wish);
  say(Examined{examination.reading, address_for_peers(examination.reading),
               examination.echo ? examination.echo->port : std::uint16_t{0}});
}

}  // namespace

int examine_for_launcher() {
  LauncherLines lines;
  Examination examination;
  while (const auto line = lines.next()) {
    auto message = decode_to_node(*line);
    if (!message) return 2;
    match(
        std::move(*message), [&](Examine&& wish) { examine(std::move(wish), examination); },
        [](AskClock&&) { say(ClockTold{unix_time_us()}); },
        [&](VisitPeers&& visit) {
          say(PeersVisited{
              visit_peers(visit.peers, examination.wish.token, examination.reading.interfaces),
              examination.file ? examination.file->owners() : std::nullopt});
        });
  }
  return 0;
}

}  // namespace ddprun
