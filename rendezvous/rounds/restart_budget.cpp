#include "rendezvous/rounds/restart_budget.hpp"

#include <algorithm>
#include <cassert>

namespace ddprun {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstGrowth{1'000};  // a pause of 0 grows to that
constexpr int kDoublingsMax = 30;            // no pause of an int64 of milliseconds overflows

}  // namespace

std::string RestartBudget::spend(const Failure& failure) {
  assert(!is_spent_by(failure.restarts));
  note_progress(failure);
  const std::string budget = "--max-restarts " + budget_text(restarts_max_, policy_);
  if (const int limit = policy_.same_failure_limit; limit > 0 && same_in_a_row_ >= limit)
    return "the same failure " + std::to_string(same_in_a_row_) +
           " times, no step gained (--same-failure-limit " + std::to_string(limit) + ")";
  if (policy_.counted == CountedRestarts::kWithinWindow) {
    forget_before(failure.at - milliseconds{policy_.window_ms});
    if (window_.size() >= static_cast<std::size_t>(restarts_max_))
      return "there were " + std::to_string(restarts_max_) + " within " +
             span_text(policy_.window_ms) + " (" + budget + ")";
    window_.push_back(failure.at);
  }
  if (policy_.counted == CountedRestarts::kSinceProgress && since_progress_ >= restarts_max_)
    return std::to_string(restarts_max_) + " in a row gained no step" +
           (furthest_ < 0 ? ", as workers tell none (" : " (") + budget + ")";
  ++since_progress_;
  resumes_at_ = failure.at + pause();
  return "";
}

int RestartBudget::left(int restarts, TimePoint now) const {
  int used = restarts;
  if (policy_.counted == CountedRestarts::kSinceProgress) used = since_progress_;
  if (policy_.counted == CountedRestarts::kWithinWindow)
    used = static_cast<int>(std::ranges::count_if(
        window_, [&](TimePoint when) { return when >= now - milliseconds{policy_.window_ms}; }));
  return std::max(restarts_max_ - used, 0);
}

/// The first failure of a job gains nothing that could be compared.
void RestartBudget::note_progress(const Failure& failure) {
  const bool gained = failure.step > furthest_;
  const bool same = !failure.fingerprint.empty() && failure.fingerprint == last_fingerprint_;
  same_in_a_row_ = same && !gained ? same_in_a_row_ + 1 : 1;
  last_fingerprint_ = failure.fingerprint;
  gainless_ = gained || !failed_before_ ? 0 : gainless_ + 1;
  if (gained) since_progress_ = 0;
  furthest_ = std::max(furthest_, failure.step);
  failed_before_ = true;
}

void RestartBudget::forget_before(TimePoint when) {
  while (!window_.empty() && window_.front() < when) window_.pop_front();
}

/// The first one is the least. From then on it doubles with each restart that has gained nothing.
milliseconds RestartBudget::pause() const {
  const milliseconds least{policy_.delay_min_ms};
  const milliseconds most{policy_.delay_max_ms};
  if (gainless_ == 0 || most <= least) return least;
  const milliseconds base = std::max(least * 2, kFirstGrowth);
  return std::min(base * (std::int64_t{1} << std::min(gainless_ - 1, kDoublingsMax)), most);
}

}  // namespace ddprun
