// RestartBudget decides after each failure of a job whether its workers are restarted once more,
// and after which pause. docs/restarts.md has the rules as users see them.
//
// It counts what its own coordinator has seen: after a coordinator that was lost, the next one
// begins with a full budget, unless all restarts of the job count. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

#include "base/clock.hpp"
#include "rendezvous/messages/job_terms.hpp"

namespace ddprun {

class RestartBudget {
 public:
  RestartBudget(int restarts_max, const RestartPolicy& policy)
      : restarts_max_{restarts_max}, policy_{policy} {}

  /// A failure of the job, at which `restarts` had been made before.
  struct Failure {
    int restarts = 0;
    std::int64_t step = -1;   // the greatest that the job has ever told; -1: none
    std::string fingerprint;  // as Cause has it; "": the cause is not known
    TimePoint at;
  };

  /// Whether the budget is spent for certain, before all is known of the failure: where all
  /// restarts count.
  bool is_spent_by(int restarts) const {
    return policy_.counted == CountedRestarts::kAll && restarts >= restarts_max_;
  }

  /// Takes one restart from the budget, which is_spent_by() has not told to be spent. Returns why
  /// there is none to take, for the user; "": the workers are to be restarted at resumes_at().
  std::string spend(const Failure& failure);

  /// When the next round may begin; before the first restart: at any time.
  TimePoint resumes_at() const { return resumes_at_; }
  /// How many restarts would follow if failures came at `now` one after another.
  int left(int restarts, TimePoint now) const;

 private:
  void note_progress(const Failure& failure);
  void forget_before(TimePoint when);
  std::chrono::milliseconds pause() const;

  int restarts_max_;
  RestartPolicy policy_;
  std::deque<TimePoint> window_;  // the restarts of the last window_ms; only for kWithinWindow
  int since_progress_ = 0;        // restarts
  bool failed_before_ = false;
  int gainless_ = 0;  // restarts in a row that gained no step, of which the last one is to come
  std::string last_fingerprint_;
  int same_in_a_row_ = 0;       // failures with the same cause, and no step gained between them
  std::int64_t furthest_ = -1;  // the greatest step at an earlier failure
  TimePoint resumes_at_ = TimePoint::min();
};

}  // namespace ddprun
