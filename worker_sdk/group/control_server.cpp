#include "worker_sdk/group/control_server.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <torch/csrc/distributed/c10d/control_plane/Handlers.hpp>
#include <utility>

#include "ddprun/worker_env.hpp"
#include "worker_sdk/group/quiet_thread.hpp"

namespace ddprun::sdk {

namespace {

namespace control_plane = c10d::control_plane;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kRequestBytesMax = 8 * 1024;
/// For all of a question, and for all of its answer. The agent is on this machine.
constexpr std::chrono::seconds kPatience{5};
constexpr int kBacklog = 16;
constexpr int kNoFile = -1;  // poll(2) leaves it out
constexpr std::chrono::milliseconds kPause{100};
constexpr std::string_view kHandlers = "/handler/";

std::atomic<int> own_gpu{-1};  // -1: it has none

[[noreturn]] void no_server(const std::string& action) {
  throw std::system_error{errno, std::generic_category(), action};
}

class Question : public control_plane::Request {
 public:
  /// Reads the target of a request: "/handler/NAME?KEY=VALUE&KEY=VALUE".
  explicit Question(std::string_view target) {
    target.remove_prefix(std::min(kHandlers.size(), target.size()));
    const std::size_t mark = std::min(target.find('?'), target.size());
    name_ = target.substr(0, mark);
    target.remove_prefix(std::min(mark + 1, target.size()));
    while (!target.empty()) {
      const std::string_view pair = target.substr(0, target.find('&'));
      target.remove_prefix(std::min(pair.size() + 1, target.size()));
      const std::size_t equals = std::min(pair.find('='), pair.size());
      const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
      params_.emplace(pair.substr(0, equals), value);
    }
  }
  const std::string& name() const { return name_; }
  const std::string& body() const override { return body_; }
  const std::multimap<std::string, std::string>& params() const override { return params_; }

 private:
  std::string name_;
  std::string body_;  // questions have none
  std::multimap<std::string, std::string> params_;
};

class Answer : public control_plane::Response {
 public:
  void setContent(std::string&& content, const std::string& content_type) override {
    content_ = std::move(content);
    type_ = content_type;
  }
  void setStatus(int status) override { status_ = status; }

  std::string text() const {
    return "HTTP/1.1 " + std::to_string(status_) + " " + (status_ == 200 ? "OK" : "Error") +
           "\r\nContent-Type: " + type_ + "\r\nContent-Length: " + std::to_string(content_.size()) +
           "\r\nConnection: close\r\n\r\n" + content_;
  }

 private:
  int status_ = 200;
  std::string content_;
  std::string type_ = "text/plain";
};

Answer sentence(int status, std::string text) {
  Answer answer;
  answer.setStatus(status);
  answer.setContent(std::move(text) + "\n", "text/plain");
  return answer;
}

control_plane::HandlerFunc find_handler(const std::string& name) {
  try {
    return control_plane::getHandler(name);
  } catch (const std::exception&) {
    return nullptr;
  }
}

/// `head` is all of a request up to its empty line.
Answer answer_to(std::string_view head) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const std::size_t begin = std::min(line.find(' ') + 1, line.size());
  const std::string_view target = line.substr(begin, line.find(' ', begin) - begin);
  if (!target.starts_with(kHandlers)) return sentence(400, "expected POST /handler/NAME");
  const Question question{target};
  const control_plane::HandlerFunc handler = find_handler(question.name());
  if (!handler) return sentence(404, "there is no such handler");
  Answer answer;
  try {
    handler(question, answer);
  } catch (const std::exception& e) {
    return sentence(500, e.what());
  }
  return answer;
}

/// Waits until `file` is ready for `events`. False: the deadline has passed, or `stop` is readable.
bool wait_for(int file, short events, int stop, std::optional<Clock::time_point> deadline) {
  for (;;) {
    std::array<pollfd, 2> watched{{{file, events, 0}, {stop, POLLIN, 0}}};
    int patience_ms = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
      patience_ms = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }
    const int ready = poll(watched.data(), watched.size(), patience_ms);
    if (ready < 0 && errno == EINTR) continue;
    return ready > 0 && watched[1].revents == 0;
  }
}

class Connection {
 public:
  Connection(int file, int stop) : file_{file}, stop_{stop} {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(file_); }

  /// The head of a request; "": none came in time.
  std::string read_head() const {
    const auto deadline = Clock::now() + kPatience;
    std::string head;
    while (head.size() < kRequestBytesMax && wait_for(file_, POLLIN, stop_, deadline)) {
      std::array<char, 1024> bytes;
      const ssize_t got = recv(file_, bytes.data(), bytes.size(), 0);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (got <= 0) return "";
      head.append(bytes.data(), static_cast<std::size_t>(got));
      if (head.find("\r\n\r\n") != std::string::npos) return head;
    }
    return "";
  }

  void write(std::string_view text) const {
    const auto deadline = Clock::now() + kPatience;
    while (!text.empty() && wait_for(file_, POLLOUT, stop_, deadline)) {
      const ssize_t sent = send(file_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (sent < 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

 private:
  int file_;
  int stop_;
};

int listen_at(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& name = path.native();
  if (name.size() >= sizeof address.sun_path)
    throw std::length_error{"a socket's path is too long: " + name};
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) no_server("cannot make a socket");
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (bind(file, generic, sizeof address) == 0 && listen(file, kBacklog) == 0) return file;
  const int reason = errno;
  close(file);
  errno = reason;
  no_server("cannot listen at " + name);
}

}  // namespace

ControlServer::ControlServer(std::filesystem::path socket)
    : socket_{std::move(socket)}, opened_by_{getpid()}, listener_{listen_at(socket_)}, stop_{-1} {
  try {
    stop_ = eventfd(0, EFD_CLOEXEC);
    if (stop_ < 0) no_server("cannot make an eventfd");
    thread_ = std::make_unique<std::thread>(start_without_signals([this] { serve(); }));
  } catch (...) {
    unlink(socket_.c_str());
    close(listener_);
    if (stop_ >= 0) close(stop_);
    throw;
  }
}

ControlServer::~ControlServer() {
  if (getpid() != opened_by_) {
    static_cast<void>(thread_.release());
    return;
  }
  unlink(socket_.c_str());
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = write(stop_, &one, sizeof one);
  thread_->join();
  close(listener_);
  close(stop_);
}

void ControlServer::serve() const {
  while (wait_for(listener_, POLLIN, stop_, std::nullopt)) {
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection >= 0)
      answer(connection);
    else
      wait_for(kNoFile, 0, stop_, Clock::now() + kPause);  // the process has no file left
  }
}

void ControlServer::answer(int connection) const {
  const Connection client{connection, stop_};
  try {
    const std::string head = client.read_head();
    if (const int gpu = own_gpu; gpu >= 0)
      c10::impl::VirtualGuardImpl{c10::kCUDA}.setDevice(
          {c10::kCUDA, static_cast<c10::DeviceIndex>(gpu)});
    if (!head.empty()) client.write(answer_to(head).text());
  } catch (...) {
    return;  // whatever it was, the training goes on
  }
}

/// The variable stays, with nothing in it: to take it out would move others, which another thread
/// may be reading.
std::unique_ptr<ControlServer> open_wanted_server() {
  const std::string place = environment_lookup(env::kIntrospection).value_or("");
  if (place.empty()) return nullptr;
  setenv(env::kIntrospection, "", 1);
  return std::make_unique<ControlServer>(place + "." + std::to_string(getpid()) + ".sock");
}

void answer_on(c10::Device gpu) noexcept { own_gpu = gpu.index(); }

void answer_ddprun() noexcept {
  static std::once_flag once;
  try {
    std::call_once(
        once, [] { static const std::unique_ptr<ControlServer> server = open_wanted_server(); });
  } catch (...) {
    return;  // ddprun sees less of this worker, which works as well
  }
}

}  // namespace ddprun::sdk
