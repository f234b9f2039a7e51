// What CoordinatorMachine does when workers fail.
#include <string>
#include <utility>

#include "rendezvous/rounds/round_machine.hpp"
#include "rendezvous/verdict/judge_end.hpp"

namespace ddprun {

namespace {

/// Who has lost a peer stops the round only after so long, unless the peer's end is told before:
/// tearing a large program down takes its time, and its connections are closed early in that.
constexpr std::chrono::seconds kCausePatience{2};

}  // namespace

/// The first failure with a cause of its own stops the round, and so does one that only follows
/// from another failure when the cause does not come. What comes later is for the verdict only.
void CoordinatorMachine::worker_failed(Node& node, const WorkerFailed& report, TimePoint now) {
  inquest_.failed(node.id(), report);
  if (state_ != State::kRunning || report.round != round_ || node.phase() != Phase::kRunning)
    return;
  if (report.left >= 0) node.workers_left = report.left;
  Failure failure{
      {EndJob::Outcome::kFailed, attempt_, "", report.failure},
      "rank " + std::to_string(report.failure.rank) + " " + describe(report.failure.status),
      age_of(report)};
  const Explains explained = explains(report.end);
  const bool asked = awaits_cause_ && awaits_cause_->asked;
  if (explained == Explains::kWaits && (asked || ask_for_missing(report, now)))
    await_cause({std::move(failure), true, TimePoint::max()});
  else if (lost_a_peer(report.end) || (awaits_cause_ && explained == Explains::kNothing))
    await_cause({std::move(failure), false, now + kCausePatience});
  else
    stop_because_of(std::move(failure));
}

/// Who waits in vain knows more than who has lost a peer.
void CoordinatorMachine::await_cause(AwaitedCause awaited) {
  if (!awaits_cause_ || (awaited.asked && !awaits_cause_->asked))
    awaits_cause_ = std::move(awaited);
}

/// The nodes that are asked who is missing answer in time, which look_for_hangs() sees to.
bool CoordinatorMachine::has_awaited_cause(TimePoint now) const {
  if (awaits_cause_->asked) return false;
  bool others_run = false;
  nodes_.for_each([&](const Node& node) {
    others_run = others_run || (node.phase() == Phase::kRunning && node.workers_left > 0);
  });
  return !others_run || now >= awaits_cause_->until;
}

/// Who waits in vain says that others have not come, and not who. They are alive still, and can be
/// looked at before they are stopped. Returns whether that is done.
bool CoordinatorMachine::ask_for_missing(const WorkerFailed& report, TimePoint now) {
  const auto question = watch_.ask_for_missing(round_, report.failure.rank, now);
  if (question) tell_members(*question);
  return question.has_value();
}

void CoordinatorMachine::stop_because_of(Failure failure) {
  count_failure(std::move(failure.last));
  noticed_after_ = failure.noticed_after;
  stop_round(failure.reason);
}

/// The next attempt follows, or when there is none left, `last` is how the job ends. Workers that
/// have lost their store with a server may fail because of that, so this costs nothing.
void CoordinatorMachine::count_failure(EndJob last) {
  if (store_is_new_) return;
  if (attempt_ >= rules_.restarts_max)
    verdict_ = std::move(last);
  else
    ++attempt_;
}

}  // namespace ddprun
