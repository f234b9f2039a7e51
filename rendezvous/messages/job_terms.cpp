#include "rendezvous/messages/job_terms.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace ddprun {

std::string strikes_text(const NodePolicy& policy) {
  if (policy.strikes == 0) return "0";
  return std::to_string(policy.strikes) + "/" + span_text(policy.window_ms);
}

std::string span_text(std::int64_t ms) {
  constexpr auto kUnits = std::to_array<std::pair<std::int64_t, char>>(
      {{86'400'000, 'd'}, {3'600'000, 'h'}, {60'000, 'm'}});
  for (const auto& [unit, letter] : kUnits)
    if (ms >= unit && ms % unit == 0) return fmt::format("{}{}", ms / unit, letter);
  return ms == 0 ? "0" : fmt::format("{:g}s", static_cast<double>(ms) / 1000);
}

std::string budget_text(int restarts_max, const RestartPolicy& policy) {
  switch (policy.counted) {
    case CountedRestarts::kWithinWindow:
      return fmt::format("{}/{}", restarts_max, span_text(policy.window_ms));
    case CountedRestarts::kSinceProgress:
      return fmt::format("{}@progress", restarts_max);
    case CountedRestarts::kAll:
      break;
  }
  return std::to_string(restarts_max);
}

std::string delay_text(const RestartPolicy& policy) {
  const std::string least = span_text(policy.delay_min_ms);
  return policy.delay_max_ms > policy.delay_min_ms ? least + ":" + span_text(policy.delay_max_ms)
                                                   : least;
}

std::string restart_number_text(int restart, int restarts_max, const RestartPolicy& policy) {
  if (policy.counted == CountedRestarts::kAll)
    return fmt::format("{} of {}", restart, restarts_max);
  return fmt::format("{} (--max-restarts {})", restart, budget_text(restarts_max, policy));
}

}  // namespace ddprun
