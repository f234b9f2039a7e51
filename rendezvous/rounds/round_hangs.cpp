// What RoundMachine does about workers that hang.
#include <utility>

#include "base/match.hpp"
#include "rendezvous/rounds/round_machine.hpp"
#include "rendezvous/verdict/consequences.hpp"
#include "rendezvous/verdict/judge_end.hpp"

namespace ddprun {

void RoundMachine::note_progress(const Node& node, const Progress& report, TimePoint now) {
  if (state_ != State::kRunning || report.round != round_ || node.group_rank < 0) return;
  for (const RankProgress& told : report.ranks)
    if (told.rank >= node.first_rank && told.rank - node.first_rank < node.join.workers) {
      watch_.take(told, now);
      take_progress(told, now);
      inquest_.reached(told.step);
    }
  chronicle_progress(now);
}

void RoundMachine::look_for_hangs(TimePoint now) {
  if (state_ != State::kRunning) return;
  match(
      watch_.look(round_, now),  //
      [](std::monostate) {}, [&](const RoundWatch::Ask& a) { tell_members(a.question); },
      [&](const RoundWatch::Over& o) {
        tell_members(HangOver{round_, o.lasted.count()});
      },
      [&](const RoundWatch::Found& f) {
        if (watch_.hang()) tell_members(HangFound{round_, f.report});
        if (timed_out_)
          stop_because_of(*std::exchange(timed_out_, std::nullopt));
        else
          act_on_hang(f.report);
      });
}

/// Who waits in vain says that others have not come, and not who. They are alive still, and can be
/// looked at before they are stopped. Returns whether that is done.
bool RoundMachine::ask_for_missing(const WorkerFailed& report, TimePoint now) {
  if (judge_end(clues_of(report.failure, now)).says != kCollectiveTimedOut) return false;
  const auto question = watch_.ask_for_missing(round_, report.failure.rank, now);
  if (question) tell_members(*question);
  return question.has_value();
}

/// The message is of a kind that came with hangs.
void RoundMachine::tell_members(const CoordinatorMessage& message) {
  nodes_.for_each([&](const Node& node) {
    const bool member = node.phase() == Phase::kRunning || node.phase() == Phase::kFinished;
    if (member && knows(node.join.knows, kKnowsHangs)) send(node.peer(), message);
  });
}

void RoundMachine::act_on_hang(const HangReport& report) {
  if (rules_.on_hang == OnHang::kReport) return;
  inquest_.hung(report);
  EndJob hung{EndJob::Outcome::kFailed, attempt_, report.sentence, {}, true};
  if (rules_.on_hang == OnHang::kStop)
    verdict_ = std::move(hung);
  else
    count_failure(std::move(hung));
  stop_round("the workers hang");
}

}  // namespace ddprun
