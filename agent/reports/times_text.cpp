#include "agent/reports/times_text.hpp"

#include <fmt/format.h>

namespace ddprun {

namespace {

std::string duration(double ms) {
  if (ms >= 1000) return fmt::format("{:.1f} s", ms / 1000);
  return fmt::format("{:.{}f} ms", ms, ms < 10 ? 1 : 0);
}

std::string in_restarts(const Goodput& times) {
  return fmt::format("{:.1f} s {}in {} restart{}", times.restarts_s,
                     times.goodput_percent < 0 ? "of them " : "", times.restarts,
                     times.restarts == 1 ? "" : "s");
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
  add("first step", times.first_step_ms);
  if (times.awaits_step) parts += ", no step yet";
  return fmt::format("round {} \u2192 {}{} ({}){}", times.from_round, times.round,
                     times.in_place ? " in place" : "", times.reason, parts);
}

std::string times_text(const Goodput& times) {
  const std::string all = fmt::format("{:.1f} s in all, ", times.wall_s);
  if (times.goodput_percent < 0) return all + in_restarts(times);
  std::string lost;
  if (times.lost_steps > 0)
    lost = fmt::format(", {} steps done again ({:.1f} s)", times.lost_steps, times.lost_s);
  return fmt::format("{}{:.1f} s of them in training, {}{}: goodput {:.1f} %", all,
                     times.training_s, in_restarts(times), lost, times.goodput_percent);
}

}  // namespace ddprun
