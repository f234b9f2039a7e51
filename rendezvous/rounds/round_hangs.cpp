// What CoordinatorMachine does about workers that hang.
#include <utility>

#include "base/match.hpp"
#include "rendezvous/rounds/round_machine.hpp"

namespace ddprun {

void CoordinatorMachine::note_progress(const Node& node, const Progress& report, TimePoint now) {
  if (state_ != State::kRunning || report.round != round_ || node.group_rank < 0) return;
  for (const RankProgress& told : report.ranks)
    if (told.rank >= node.first_rank && told.rank - node.first_rank < node.join.workers) {
      watch_.take(told, now);
      take_progress(told, now);
      inquest_.reached(told.step);
    }
  chronicle_progress(now);
}

void CoordinatorMachine::look_for_hangs(TimePoint now) {
  if (state_ != State::kRunning) return;
  match(
      watch_.look(round_, now),  //
      [](std::monostate) {}, [&](const RoundWatch::Ask& a) { tell_members(a.question); },
      [&](const RoundWatch::Over& o) {
        tell_members(HangOver{round_, o.lasted.count()});
      },
      [&](const RoundWatch::Found& f) {
        if (watch_.hang()) tell_members(HangFound{round_, f.report});
        if (awaits_cause_ && awaits_cause_->asked)
          stop_because_of(awaits_cause_->failure);
        else
          act_on_hang(f.report);
      });
}

void CoordinatorMachine::tell_members(const CoordinatorMessage& message) {
  nodes_.for_each([&](const Node& node) {
    const bool member = node.phase() == Phase::kRunning || node.phase() == Phase::kFinished;
    if (member) send(node.peer(), message);
  });
}

void CoordinatorMachine::act_on_hang(const HangReport& report) {
  if (rules_.on_hang == OnHang::kReport) return;
  inquest_.hung(report);
  EndJob hung{EndJob::Outcome::kHung, attempt_, report.sentence, {}};
  if (rules_.on_hang == OnHang::kStop)
    verdict_ = std::move(hung);
  else
    count_failure(std::move(hung));
  stop_round("the workers hang");
}

}  // namespace ddprun
