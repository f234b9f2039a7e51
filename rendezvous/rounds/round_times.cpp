// What CoordinatorMachine measures, and tells of it.
#include <algorithm>

#include "rendezvous/rounds/round_machine.hpp"

namespace ddprun {

namespace {

/// Milliseconds that a peer has told, which may be any number.
Clock::duration within_reason(double ms) {
  constexpr double kMost = 3'600'000;
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double, std::milli>{std::clamp(ms, 0.0, kMost)});
}

}  // namespace

Clock::duration CoordinatorMachine::age_of(const WorkerFailed& report) {
  return within_reason(report.age_ms);
}

void CoordinatorMachine::workers_started(Node& node, const WorkersStarted& report, TimePoint now) {
  if (report.round == round_) heard_of_round(node, quorum_.proposed.version);
  if (report.round == round_ && node.group_rank >= 0) times_.started(now);
}

void CoordinatorMachine::take_progress(const RankProgress& told, TimePoint now) {
  const auto is_done = [](const GroupProgress& group) { return group.completed > 0; };
  if (told.step >= 0 || std::ranges::any_of(told.groups, is_done))
    times_.progressed(told.step, now - within_reason(static_cast<double>(told.still_ms)));
}

void CoordinatorMachine::tell_restarts(TimePoint now) {
  while (const auto times = times_.take_due(now)) send_to_nodes(Restarted{*times});
}

void CoordinatorMachine::tell_times(TimePoint now) {
  tell_restarts(now);
  if (const auto times = times_.end(now)) send_to_nodes(Restarted{*times});
  send_to_nodes(JobTimes{times_.restarts(), times_.goodput(now)});
}

}  // namespace ddprun
