#include "rendezvous/watch/sleep_samples.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddprun {

std::optional<TimePoint> SleepSamples::due() const {
  return asked_ < kSleepLooks ? std::optional{due_} : std::nullopt;
}

Inspect SleepSamples::ask(int round, int number, TimePoint now) {
  due_ = now + kSleepPause + asked_ * kSleepPauseGrows;
  ++asked_;
  number_ = number;
  return {.round = round,
          .inspection = number,
          .first = std::to_string(rank_),
          .patience_ms = kSleepPause.count(),
          .sample = true};
}

void SleepSamples::take(const Inspected& answer) {
  if (number_ == 0 || answer.inspection != number_) return;
  number_ = 0;
  ++answered_;
  if (!answer.workers.doing.empty()) ++seen_[answer.workers.doing];
}

std::string SleepSamples::sentence() const {
  const auto most =
      std::ranges::max_element(seen_, {}, [](const auto& seen) { return seen.second; });
  if (most == seen_.end() || most->second < kSleepSeenMin) return "";
  return fmt::format("in {} of {} looks it {}", most->second, answered_, most->first);
}

}  // namespace ddprun
