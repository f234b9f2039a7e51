// What CoordinatorMachine does for those who ask what all workers do. It decides nothing about the
// job.
#include <utility>

#include "rendezvous/rounds/round_machine.hpp"

namespace ddprun {

void CoordinatorMachine::ask_dump(const Node& node, const AskDump& question, TimePoint now) {
  dump_.add({node.peer(), question.question});
  if (state_ != State::kRunning || dump_.under_way()) return;
  RoundDump::Seats seats;
  nodes_.for_each([&](const Node& member) {
    const bool finished = member.phase() == Phase::kFinished;
    if (finished || member.phase() == Phase::kRunning)
      seats[member.id()] = {member.join.host, member.first_rank, member.join.workers, finished};
  });
  const int number = watch_.next_inspection();
  const Inspect inspect{
      .round = round_, .inspection = number, .patience_ms = kDumpPatience.count()};
  dump_.begin(number, std::move(seats), now);
  nodes_.for_each([&](const Node& member) {
    if (dump_.waits_for(member.id())) send(member.peer(), inspect);
  });
}

/// Answers when all have, when the time is over, and at once when the round ends.
void CoordinatorMachine::answer_dumps(TimePoint now) {
  if (state_ == State::kRunning && now < dump_.due()) return;
  JobDump dump;
  if (dump_.under_way()) dump = dump_.finish(watch_.progress(), now);
  const std::vector<RoundDump::Asker> askers = dump_.take_askers();
  if (askers.empty()) return;
  tell_state(dump);
  const std::string text = to_json(dump);
  for (const RoundDump::Asker& asker : askers)
    if (nodes_.with_peer(asker.peer) != nullptr) send_dump(asker, text);
}

/// The answer is of many bytes for a great job: it goes out in pieces between other lines.
void CoordinatorMachine::send_dump(const RoundDump::Asker& asker, const std::string& text) {
  for (std::size_t begin = 0; begin < text.size(); begin += kStatusPartBytesMax) {
    const bool last = begin + kStatusPartBytesMax >= text.size();
    send(asker.peer, DumpPart{asker.question, text.substr(begin, kStatusPartBytesMax), last});
  }
}

void CoordinatorMachine::tell_state(JobDump& dump) const {
  dump.round = round_;
  dump.attempt = attempt_;
  switch (state_) {
    case State::kStandby:
      dump.state = "standby";
      dump.why = "another node coordinates the job";
      return;
    case State::kGathering:
      dump.state = "gathering";
      dump.why = "the job waits for its nodes: " + std::to_string(nodes_.count(Phase::kReady)) +
                 " of " + std::to_string(nodes_needed()) + " are there";
      return;
    case State::kRunning:
      dump.state = "running";
      break;
    case State::kStopping:
      dump.state = "stopping";
      dump.why = "the workers of round " + std::to_string(round_) + " are being stopped";
      return;
    case State::kEnding:
    case State::kEnded:
      dump.state = "ended";
      dump.why = "the job has ended";
      return;
  }
  if (!watch_.hang()) return;
  dump.hang = watch_.hang();
  dump.hang->stacks.clear();
}

}  // namespace ddprun
