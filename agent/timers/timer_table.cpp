#include "agent/timers/timer_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <limits>

#include "base/json/json_fields.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kScopeShownMax = 200;
constexpr double kLongestTimerMs = 1e12;  // 30 years: a time of Clock ends with 300

struct Request {
  std::int64_t pid = 0;
  std::string scope;
  double expires_s = 0;  // by the time of day; negative: the timer is taken back
  std::int64_t signal = 0;
};

}  // namespace

// clang-format off
template <> inline constexpr auto fields::kFields<Request> = fields::table(
    fields::field<&Request::pid>("pid"), fields::uncut<&Request::scope>("scope_id"),
    fields::field<&Request::expires_s>("expiration_time"),
    fields::field<&Request::signal>("signal"));
// clang-format on

namespace {

std::optional<Request> parse(std::string_view line) try {
  const auto request = fields::from_text<Request>(line, "timer");
  if (request.pid <= 1 || request.pid > std::numeric_limits<pid_t>::max() ||
      request.signal > SIGRTMAX)
    return std::nullopt;
  return request;
} catch (const fields::Unfit&) {
  return std::nullopt;
}

std::string shown(const std::string& scope) { return cut(plain_line(scope), {kScopeShownMax}); }

/// "0.25", "2", "600".
std::string seconds(milliseconds time) {
  const double value = static_cast<double>(time.count()) / 1000;
  return value < 10 ? fmt::format("{:.2g}", value) : fmt::format("{:.0f}", value);
}

}  // namespace

std::string describe(const ExpiredTimer& timer) {
  return fmt::format("timer '{}' expired after {} s", timer.scope, seconds(timer.after));
}

std::string TimerTable::take(std::string_view bytes, TimePoint now, milliseconds unix_time) {
  std::string complaint;
  const auto refuse = [&](std::string_view line) {
    if (std::exchange(complained_, true)) return;
    complaint = "the timers' pipe: " + printable(line) + " is no timer, or there are too many";
  };
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + part.size() > kTimerLineMax) overlong_ = true;
    if (!overlong_) line_ += part;
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    const std::string line = std::exchange(line_, {});
    if (std::exchange(overlong_, false) || !take_line(line, now, unix_time)) refuse(line);
  }
  return complaint;
}

bool TimerTable::take_line(std::string_view line, TimePoint now, milliseconds unix_time) {
  auto request = parse(line);
  if (!request) return false;
  Key key{static_cast<pid_t>(request->pid), std::move(request->scope)};
  if (request->expires_s < 0) {
    timers_.erase(key);
    return true;
  }
  if (timers_.size() >= kTimersMax && !timers_.contains(key)) return false;
  const double after_ms = request->expires_s * 1000 - static_cast<double>(unix_time.count());
  const milliseconds after{std::llround(std::clamp(after_ms, 0.0, kLongestTimerMs))};
  timers_.insert_or_assign(
      std::move(key),
      Timer{now + after, after, static_cast<int>(std::max<std::int64_t>(request->signal, 0))});
  return true;
}

std::optional<TimePoint> TimerTable::next_due() const {
  std::optional<TimePoint> next;
  for (const auto& [key, timer] : timers_) next = std::min(next.value_or(timer.due), timer.due);
  return next;
}

std::vector<ExpiredTimer> TimerTable::take_expired(TimePoint now) {
  std::map<pid_t, std::pair<TimePoint, ExpiredTimer>> expired;
  for (const auto& [key, timer] : timers_) {
    if (timer.due > now) continue;
    ExpiredTimer found{key.first, timer.signal, shown(key.second), timer.after};
    const auto [known, is_first] = expired.try_emplace(key.first, timer.due, found);
    const bool better = (timer.signal > 0) != (known->second.second.signal > 0)
                            ? timer.signal > 0
                            : timer.due < known->second.first;
    if (!is_first && better) known->second = {timer.due, std::move(found)};
  }
  std::erase_if(timers_, [&](const auto& each) {
    const auto found = expired.find(each.first.first);
    return found != expired.end() && (each.second.due <= now || found->second.second.signal > 0);
  });
  std::vector<ExpiredTimer> result;
  result.reserve(expired.size());
  for (auto& [pid, found] : expired) result.push_back(std::move(found.second));
  return result;
}

void TimerTable::clear() { timers_.clear(); }

}  // namespace ddprun
