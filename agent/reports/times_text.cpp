#include "agent/reports/times_text.hpp"

#include <fmt/format.h>

#include "base/number_text.hpp"

namespace ddprun {

namespace {

std::string duration(double ms) {
  if (ms >= 1000) return fmt::format("{:.1f} s", ms / 1000);
  return fmt::format("{:.{}f} ms", ms, ms < 10 ? 1 : 0);
}

/// "1.0 s in 2 restarts and 1 change of members"; "" where there was neither.
std::string in_restarts(const Goodput& times) {
  std::string what;
  if (times.restarts > 0) what = counted(times.restarts, "restart");
  if (times.changes > 0)
    what += (what.empty() ? "" : " and ") + counted(times.changes, "change") + " of members";
  if (what.empty()) return "";
  const bool has_first_steps = times.startup_s >= 0 || times.goodput_percent >= 0;
  return fmt::format(
      "{:.1f} s in {}{}", times.restarts_s, what,
      has_first_steps ? "" : ", without the time to a first step, which is not known");
}

std::string steps_again(const Goodput& times) {
  if (times.lost_steps <= 0) return "";
  return fmt::format("{}{} done again ({:.1f} s)", times.lost_at_least ? "at least " : "",
                     counted(times.lost_steps, "step"), times.lost_s);
}

}  // namespace

std::string times_text(const RestartTimes& times) {
  std::string parts;
  const auto add = [&](const char* what, double ms) {
    if (ms >= 0) parts += fmt::format("{} {} {}", parts.empty() ? ":" : ",", what, duration(ms));
  };
  add("noticed", times.detected_ms);
  add(times.in_place ? "left" : "stopped", times.stopped_ms);
  add("sealed", times.sealed_ms);
  add("started", times.started_ms);
  add(times.first_step_seen ? "first step at most" : "first step", times.first_step_ms);
  if (times.awaits_step) parts += ", no step yet";
  return fmt::format("round {} \u2192 {}{} ({}){}", times.from_round, times.round,
                     times.in_place ? " in place" : "", times.reason, parts);
}

std::string times_text(const Goodput& times) {
  std::string text = fmt::format("{:.1f} s in all", times.wall_s);
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += ", " + part;
  };
  const bool has_goodput = times.goodput_percent >= 0;
  if (times.startup_s >= 0) add(fmt::format("{:.1f} s of start-up", times.startup_s));
  if (has_goodput) add(fmt::format("{:.1f} s in training", times.training_s));
  add(in_restarts(times));
  if (!has_goodput) return text;
  add(steps_again(times));
  return text + fmt::format(": goodput {}{:.1f} %", times.lost_at_least ? "at most " : "",
                            times.goodput_percent);
}

}  // namespace ddprun
