#include "worker_sdk/elastic/agent_line.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "ddprun/worker_env.hpp"
#include "worker_sdk/group/quiet_thread.hpp"

namespace ddprun::sdk {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLineBytesMax = 64 * 1024;
/// The agent is on this machine, and answers to hello within that time.
constexpr std::chrono::seconds kAnswerTime{5};

/// Where the agent listens, and which of its workers this one is.
struct AgentPlace {
  std::string path;
  int local_rank = 0;
};

std::optional<AgentPlace> place_of_agent() {
  const std::string text = environment_lookup(env::kControl).value_or("");
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  AgentPlace place{text.substr(0, colon), 0};
  const char* const begin = text.data() + colon + 1;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(begin, end, place.local_rank);
  if (error != std::errc{} || last != end || place.local_rank < 0) return std::nullopt;
  return place;
}

/// -1 if no process listens: a container of the worker's own hides the folder.
int connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return -1;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0) return -1;
  if (connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return file;
  close(file);
  return -1;
}

}  // namespace

std::unique_ptr<AgentLine> AgentLine::connect(std::int64_t round, bool resize, Orders orders) {
  const auto place = place_of_agent();
  if (!place) return nullptr;
  const int connection = connect_to(place->path);
  if (connection < 0) return nullptr;
  std::unique_ptr<AgentLine> line{new AgentLine{connection, std::move(orders)}};
  line->say(
      {{"type", "hello"}, {"local_rank", place->local_rank}, {"round", round}, {"resize", resize}});
  return line->await_welcome() ? std::move(line) : nullptr;
}

AgentLine::AgentLine(int connection, Orders orders)
    : connection_{connection}, orders_{std::move(orders)} {
  thread_ = start_without_signals([this] { read(); });
}

AgentLine::~AgentLine() {
  say({{"type", "goodbye"}});
  shutdown(connection_, SHUT_RDWR);  // which ends the thread's reading
  thread_.join();
  close(connection_);
}

bool AgentLine::await_welcome() {
  std::unique_lock lock{mutex_};
  news_.wait_for(lock, kAnswerTime, [&] { return patience_ || !is_open_; });
  return patience_.has_value();
}

void AgentLine::say_holding(std::int64_t round, std::int64_t step) const {
  say({{"type", "holding"}, {"round", round}, {"step", step}});
}

void AgentLine::say_parked(std::int64_t round) const {
  say({{"type", "parked"}, {"round", round}});
}

void AgentLine::say_stuck(std::int64_t round) const { say({{"type", "stuck"}, {"round", round}}); }

std::optional<Entrance> AgentLine::await_entrance(const std::function<bool()>& is_ordered) {
  std::unique_lock lock{mutex_};
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(*patience_);
  while (!entrance_ && is_open_) {
    if (is_ordered())
      news_.wait(lock);
    else if (news_.wait_until(lock, end) == std::cv_status::timeout && !is_ordered())
      break;
  }
  return std::exchange(entrance_, std::nullopt);
}

Entrance AgentLine::first_entrance() {
  say_parked(kNoRound);
  auto entrance = await_entrance([] { return true; });
  if (!entrance)
    throw std::runtime_error{
        "this worker was started beside a round, and its agent has gone before it could enter one"};
  return *std::move(entrance);
}

/// If the agent has gone, this worker ends as well, so a lost message does not matter.
void AgentLine::say(const json& message) const {
  const std::string text = message.dump() + "\n";
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t sent = send(connection_, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void AgentLine::read() {
  std::string unread;
  std::array<char, 4096> bytes;
  for (bool goes_on = true; goes_on && unread.size() < kLineBytesMax;) {
    const ssize_t got = recv(connection_, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    unread.append(bytes.data(), static_cast<std::size_t>(got));
    for (std::size_t end; goes_on && (end = unread.find('\n')) != std::string::npos;) {
      goes_on = hear(unread.substr(0, end));
      unread.erase(0, end + 1);
    }
  }
  orders_.agent_has_gone();
  const std::lock_guard lock{mutex_};
  is_open_ = false;
  news_.notify_all();
}

/// False: this is no line of an agent's.
bool AgentLine::hear(const std::string& line) try {
  const json message = json::parse(line);
  const std::string type = message.at("type");
  follow(type, message);
  const std::lock_guard lock{mutex_};
  if (type == "welcome") patience_.emplace(message.at("patience_s").get<double>());
  if (type == "enter") entrance_ = Entrance{message.at("environment")};
  news_.notify_all();
  return true;
} catch (const json::exception&) {
  return false;
}

void AgentLine::follow(const std::string& type, const json& message) {
  const auto number = [&](const char* name) { return message.at(name).get<std::int64_t>(); };
  if (type == "hold") {
    const std::int64_t round = number("round");
    if (const auto step = orders_.hold(round)) say_holding(round, *step);
  } else if (type == "leave_after") {
    orders_.leave_after(number("round"), number("step"));
  } else if (type == "leave") {
    orders_.leave(*this, number("round"));
  }
}

}  // namespace ddprun::sdk
