#include "rendezvous/rounds/failures.hpp"

#include <utility>

#include "base/numbers.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/rounds/observers.hpp"
#include "rendezvous/verdict/causes.hpp"
#include "rendezvous/verdict/judge_end.hpp"

namespace ddprun {

namespace {

/// "rank 1 exited with code 4: ValueError at train.py:3 in load: bad shard 17".
std::string reason_of(const WorkerFailed& report) {
  const std::string fault = fault_text(report.end.fault);
  return "rank " + std::to_string(report.failure.rank) + " " + describe(report.failure.status) +
         (fault.empty() ? "" : ": " + fault);
}

/// Where a worker has waited in vain.
GaveUp where_given_up(const WorkerEnd& end) {
  return end.consequence == Consequence::kStoreTimedOut ? GaveUp::kStore : GaveUp::kCollective;
}

}  // namespace

void Failures::begin_round(int round) {
  analysis_.begin_round(round);
  cause_.reset();
  awaited_.reset();
  counted_.reset();
  store_is_new_ = false;
}

void Failures::seat(Roster::Node& node) {
  node.workers_left = node.seats.taken();
  analysis_.seat(node.id(), node.join.host, node.seats.first_rank(), node.seats.taken());
}

void Failures::failed_late(const NodeId& node, const WorkerFailed& report) {
  analysis_.failed(node, report);
}

/// The first failure with a cause of its own stops the round, and so does one that only follows
/// from another failure when the cause does not come. What comes later is for the verdict only.
std::optional<Failures::Stop> Failures::failed(Roster::Node& node, const WorkerFailed& report,
                                               TimePoint now,
                                               const std::function<bool(GaveUp)>& ask_for_missing) {
  analysis_.failed(node.id(), report);
  node.workers_left = report.left;
  EndJob last{EndJob::Outcome::kFailed, job_.counters.attempt, "", report.failure};
  Stop stop{reason_of(report), within_reason(report.age_ms)};
  const Explains explained = explains(report.end);
  const bool asked = awaited_ && awaited_->asked;
  if (explained == Explains::kWaits && (asked || ask_for_missing(where_given_up(report.end))))
    await({std::move(last), std::move(stop), true, TimePoint::max()});
  else if (lost_a_peer(report.end) || (awaited_ && explained == Explains::kNothing))
    await({std::move(last), std::move(stop), false, now + kCausePatience});
  else
    return stop_because_of(std::move(last), std::move(stop));
  return std::nullopt;
}

/// A worker that waits in vain knows more than one that has lost a peer.
void Failures::await(Awaited awaited) {
  if (!awaited_ || (awaited.asked && !awaited_->asked)) awaited_ = std::move(awaited);
}

/// The nodes that are asked who is missing answer in time, which the hang watch sees to.
std::optional<Failures::Stop> Failures::give_up_cause(const Roster& nodes, TimePoint now) {
  if (!awaited_ || awaited_->asked) return std::nullopt;
  bool others_run = false;
  nodes.for_each([&](const Roster::Node& node) {
    others_run = others_run || (node.phase() == Roster::Phase::kRunning && node.workers_left > 0);
  });
  if (others_run && now < awaited_->until) return std::nullopt;
  Awaited awaited = *std::exchange(awaited_, std::nullopt);
  return stop_because_of(std::move(awaited.last), std::move(awaited.stop));
}

std::optional<TimePoint> Failures::next_due() const {
  return awaited_ && !awaited_->asked ? std::optional{awaited_->until} : std::nullopt;
}

std::optional<Failures::Stop> Failures::hung(const HangReport& report) {
  if (awaited_ && awaited_->asked) {
    Awaited awaited = *std::exchange(awaited_, std::nullopt);
    return stop_because_of(std::move(awaited.last), std::move(awaited.stop));
  }
  if (rules_.terms.on_hang == OnHang::kReport) return std::nullopt;
  analysis_.hung(report);
  EndJob end{EndJob::Outcome::kHung, job_.counters.attempt, report.sentence, {}};
  if (rules_.terms.on_hang == OnHang::kStop)
    job_.verdict = std::move(end);
  else
    count(std::move(end));
  Stop stop{"the workers hang"};
  if (!report.missing_ranks.empty())
    stop.reason += " because of " + ranks_text(report.missing_ranks);
  if (report.kind == HangReport::Kind::kMissing) stop.hung = ranks_in(report.missing_ranks);
  return stop;
}

Failures::Stop Failures::stop_because_of(EndJob last, Stop stop) {
  count(std::move(last));
  return stop;
}

/// The next attempt follows, or when there is none left, `last` is how the job ends. Some of that
/// is known only when the round has stopped.
void Failures::count(EndJob last) {
  if (store_is_new_) return;
  if (budget_.is_spent_by(job_.counters.attempt)) {
    job_.verdict = std::move(last);
  } else {
    ++job_.counters.attempt;
    counted_ = std::move(last);
  }
}

void Failures::stopping(const std::optional<HangReport>& hang) {
  if (hang) analysis_.hung_before(*hang);
  awaited_.reset();
}

void Failures::stopped(TimePoint now) {
  if (auto found = analysis_.decide()) cause_ = std::move(found);
  if (!counted_ || job_.verdict) return;
  EndJob last = *std::exchange(counted_, std::nullopt);
  const std::string spent = budget_.spend({.restarts = last.restarts,
                                           .step = job_.step,
                                           .fingerprint = cause_ ? cause_->cause.fingerprint : "",
                                           .at = now});
  if (spent.empty()) return;
  if (cause_) cause_->no_restart = spent;
  job_.verdict = std::move(last);
}

/// What follows from a lost store, or from the end that a scheduler has announced, is no node's
/// doing.
std::optional<NodeFailure> Failures::node_failure(TimePoint now) const {
  const bool ends_well = job_.verdict && !is_failure(job_.verdict->outcome);
  if (!cause_ || store_is_new_ || ends_well || analysis_.host_of_cause().empty())
    return std::nullopt;
  return NodeFailure{.host = analysis_.host_of_cause(),
                     .at = now,
                     .kind = cause_->cause.kind,
                     .fingerprint = cause_->cause.fingerprint,
                     .run_id = rules_.run_id,
                     .sentence = cause_->cause.sentence};
}

/// The job ends with the failure of the cause, and not with the first one that was reported.
std::optional<Verdict> Failures::explain(EndJob& end) const {
  const bool failed = is_failure(end.outcome);
  if (!cause_ || !(failed || end.outcome == EndJob::Outcome::kTooFewNodes)) return std::nullopt;
  if (failed && end.failure) end.failure = analysis_.failure_of_cause().value_or(*end.failure);
  return cause_;
}

}  // namespace ddprun
