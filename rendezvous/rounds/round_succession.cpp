// The part of RoundMachine that decides who coordinates the job when its coordinator is lost:
// docs/protocol.md, section "Succession". That two of them never both go on is decided in
// round_authority.cpp.

#include <algorithm>
#include <utility>
#include <vector>

#include "base/endpoint.hpp"
#include "base/number_list.hpp"
#include "rendezvous/rounds/round_machine.hpp"

namespace ddprun {

namespace {

using Phase = Roster::Phase;
using Node = Roster::Node;
using std::chrono::milliseconds;

bool may_succeed(const Node& node) {
  return node.join.standing.standby_port > 0 && !node.address.empty();
}

}  // namespace

// --- elections ---

void RoundMachine::take_standing(Node& node, TimePoint now) {
  const Standing& standing = node.join.standing;
  // The Join may be old. That does no harm as long as there are no voters who could elect another.
  node.confirmed = electorate_.exists() ? TimePoint{} : now;
  fences_end_ = std::max(fences_end_, now + milliseconds{standing.fence_ms});
  node.asked = node.promised = 0;
  recount_ = true;
  last_came_ = now;
  // So that the next round waits for nobody else: the first one of a job does.
  if (last_world_.contains(node.id())) round_ = std::max(round_, node.join.known.round);
}

/// Whether the node takes orders from this coordinator, as it is. A coordinator that has no round
/// yet and meets a node of one is a later one of the same job: it needs votes, as any other.
bool RoundMachine::obeys(const Node& node) const {
  const Standing& standing = node.join.standing;
  if (rules_.has_referee) return coordinates() && standing.promised <= epoch_;
  const bool of_another_world = round_ == 0 && knows_a_round(standing);
  return coordinates() && standing.promised <= epoch_ && !of_another_world;
}

void RoundMachine::hear_voter(Node& node) {
  if (node.has_voice()) nodes_.set_phase(node, Phase::kVoting);
  if (rules_.has_referee) return send(node.peer(), Voting{nodes_.count(Phase::kVoting)});
  const bool newborn = coordinates() && round_ == 0 && !electorate_.exists();
  if (knows_a_round(node.join.standing)) may_begin_job_ = false;
  if (newborn && knows_a_round(node.join.standing)) become_candidate();
  send(node.peer(), Voting{nodes_.count(Phase::kVoting)});
  given_ = std::max(given_, node.join.standing.promised);
  count_voter(node);
  call_election(node);
}

/// What the newcomer knows may change whose votes and promises are needed. Also a coordinator may
/// hear of a later round, when another one has been elected meanwhile.
void RoundMachine::count_voter(const Node& node) {
  const Electorate before = electorate_;
  electorate_.hear(node.join.standing);
  const bool changed = electorate_ != before;
  if (changed) {
    recount_ = recount_voters_ = true;
  }
  if (electorate_.settled.name != before.settled.name) left_ = 0;  // of another round
  if (std::exchange(recount_voters_, false))
    voters_ = votes_of(&Node::has_voice);
  else if (node.has_voice())
    electorate_.count(voters_, node.join.standing);
}

/// A coordinator that has begun nothing yet needs votes, as any other.
void RoundMachine::become_candidate() {
  state_ = State::kStandby;
  epoch_ = 0;
  nodes_.for_each([&](Node& node) {
    if (has_to_know(node)) nodes_.set_phase(node, Phase::kVoting);
  });
}

/// Asks for promises as soon as there are enough who could give one: all of them at first, and then
/// each that comes. One that has promised more to somebody else makes the question a greater one.
void RoundMachine::call_election(Node& newcomer) {
  if (!can_elect()) return;
  if (asked_epoch_ > std::max(given_, epoch_)) return ask(newcomer);
  asked_epoch_ = std::max(given_, epoch_) + 1;
  recount_ = true;
  nodes_.for_each([&](Node& node) { ask(node); });
}

/// Whether those who are here could give enough promises.
bool RoundMachine::can_elect() const {
  if (!electorate_.exists()) return coordinates();
  return electorate_.elects(voters_);
}

void RoundMachine::ask(Node& node) {
  if (node.asked == asked_epoch_) return;
  node.asked = asked_epoch_;
  send(node.peer(), Elect{asked_epoch_, microseconds(last_step_)});
}

void RoundMachine::promised(Node& node, const Promise& promise, TimePoint now) {
  if (promise.epoch != asked_epoch_ || node.asked != asked_epoch_) return;
  node.promised = node.join.standing.promised = promise.epoch;
  confirm(node, promise.echo_us, now);
  if (epoch_ == asked_epoch_) return take_on(node, now);
  count_promise(node);
  const bool alone = coordinates() && !electorate_.exists();  // no round was begun yet
  if (alone || electorate_.elects(promises_)) take_over(now);
}

/// In a job of thousands of nodes nobody counts all of them for each promise.
void RoundMachine::count_promise(const Node& node) {
  const auto counts = [&](const Node& n) { return n.has_voice() && n.promised == asked_epoch_; };
  if (std::exchange(recount_, false))
    promises_ = votes_of(counts);
  else if (counts(node))
    electorate_.count(promises_, node.join.standing);
}

/// Now nobody else can be elected with a smaller epoch, and whoever gave orders before has lost the
/// majority.
void RoundMachine::take_over(TimePoint now) {
  epoch_ = asked_epoch_;
  const bool reigned_all_the_time = coordinates() && now < authority_until_;
  if (!reigned_all_the_time) elected_ = true;  // somebody else may have been elected meanwhile
  forgotten_ = electorate_.has_two() && promises_.unaware > 0 &&
               promises_.started < votes_to_win(electorate_.started.nodes);
  if (forgotten_) {
    electorate_.forget_started();
    recount_ = recount_voters_ = true;
  }
  if (!coordinates()) {
    state_ = State::kGathering;
    gathering_since_ = now;
    nodes_.for_each([&](const Node& node) {
      if (node.join.standing.beside) rules_.endpoint = standby_endpoint(node);
    });
    nodes_.for_each([&](const Node& node) {
      if (node.join.standing.started.name.round == 0) return;
      round_ = std::max(round_, node.join.known.round);
      attempt_ = std::max(attempt_, node.join.known.attempt);
    });
    actions_.push_back(Herald{epoch_, heralded()});
  }
  nodes_.for_each([&](Node& node) {
    if (node.promised == epoch_) take_on(node, now);
  });
  if (!verdict_) verdict_ = testament();
}

void RoundMachine::take_on(Node& node, TimePoint now) {
  if (node.phase() != Phase::kVoting) return;
  let_in(node, joined_answer(node, now), now);
  nodes_.set_phase(node, node.join.witness ? Phase::kWitnessing : Phase::kReady);
  if (!node.join.witness) welcome(node);
}

/// Who joins hears which round has settled, too: it may have missed it.
void RoundMachine::let_in(const Node& node, Joined answer, TimePoint now) {
  send(node.peer(), std::move(answer));
  if (electorate_.exists()) send(node.peer(), settled_beat(now));
}

Beat RoundMachine::settled_beat(TimePoint now) const {
  return {.clock_us = microseconds(now),
          .settled = electorate_.settled.name.round,
          .epoch = electorate_.settled.name.epoch,
          .edition = electorate_.settled.name.edition,
          .settled_nodes = electorate_.settled.nodes,
          .lease_ms = lease_ms(now)};
}

/// Somebody coordinates the job with the promises of more than half of the nodes.
void RoundMachine::step_down(const Superseded& by) {
  // Whoever waits for votes is disturbed only by one who is later than all who have voted.
  const std::int64_t known = coordinates() ? epoch_ : std::max(given_, asked_epoch_);
  if (!rules_.has_successors || state_ == State::kEnded || by.epoch <= known) return;
  may_begin_job_ = false;
  nodes_.for_each([&](const Node& node) {
    send(node.peer(), Elsewhere{by.coordinator, by.epoch});
    actions_.push_back(DropPeer{node.peer(), "the coordinator is at " + by.coordinator});
  });
  nodes_.clear();
  if (state_ == State::kRunning) watch_.end_round();
  state_ = State::kStandby;
  epoch_ = 0;
  electorate_ = {};
  elected_ = stopped_at_once_ = settles_ = forgotten_ = false;
  recount_ = recount_voters_ = true;
  unaware_ = left_ = unheard_ = 0;
  held_ = {};
  beside_.clear();
  witness_.clear();
  voting_witness_.clear();
  world_.clear();
  asked_world_.clear();
  verdict_.reset();
}

// --- which round's nodes vote ---

/// Who has to know of the round that begins now before it settles.
std::string RoundMachine::awaited() const {
  std::vector<int> ranks;
  nodes_.for_each([&](const Node& node) {
    const int rank = rank_in(node.join.standing, electorate_.settled.name);
    if (has_to_know(node) && rank >= 0) ranks.push_back(rank);
  });
  std::ranges::sort(ranks);
  std::string list = format_number_list(ranks);
  return list.size() <= kAwaitedBytesMax ? list : "";
}

void RoundMachine::note_round(const std::vector<Node*>& members) {
  round_nodes_ = static_cast<int>(members.size());
  voting_witness_.clear();
  stopped_at_once_ = false;
  begin_to_settle({{epoch_, round_}, round_nodes_, false});
  int rank = 0;
  for (Node* const member : members) {
    member->join.standing.started.member = true;
    member->join.standing.started.rank = rank++;
  }
  if (!rules_.has_referee) return settle_if_known();
  for (Node* const member : members) member->join.standing.settled = member->join.standing.started;
  electorate_.settled = electorate_.started;  // nobody votes
  elected_ = settles_ = false;
  left_ = unaware_ = 0;
  last_world_.clear();
}

/// All who obey this coordinator are told of the round, and settle it when they have said so.
void RoundMachine::begin_to_settle(const KnownRound& round) {
  electorate_.started = round;
  electorate_.awaited.clear();
  // Nobody can have voted before the first one, so all begin with its nodes.
  if (!electorate_.exists()) electorate_.settled = round;
  recount_ = recount_voters_ = true;
  unaware_ = 0;
  settles_ = true;
  nodes_.for_each([&](Node& node) {
    if (!has_to_know(node)) return;
    Standing& standing = node.join.standing;
    if (standing.started.name == electorate_.settled.name) standing.settled = standing.started;
    standing.started = round;
    node.aware = rules_.has_referee;
    if (!node.aware) ++unaware_;
  });
}

bool RoundMachine::has_to_know(const Node& node) const {
  const Phase phase = node.phase();
  return phase == Phase::kReady || phase == Phase::kRunning || phase == Phase::kFinished ||
         phase == Phase::kWitnessing;
}

void RoundMachine::heard_of_round(Node& node, const RoundName& round) {
  if (node.aware || round != electorate_.started.name) return;
  node.aware = true;
  --unaware_;
  settle_if_known();
}

void RoundMachine::settle_if_known() {
  if (!settles_ || unaware_ > 0) return;
  settles_ = false;
  electorate_.settled = electorate_.started;
  recount_ = recount_voters_ = true;
  elected_ = false;
  left_ = 0;
  nodes_.for_each([&](const Node& node) {
    if (node.join.standing.started.name == electorate_.settled.name)
      send(node.peer(), settled_beat(last_step_));
  });
}

std::vector<std::string> RoundMachine::successors(const std::vector<Node*>& members) const {
  std::vector<std::string> endpoints;
  if (!rules_.has_successors || rules_.has_referee) return endpoints;
  for (const Node* node : members)
    if (endpoints.size() < kSuccessorsMax && may_succeed(*node) && !node->join.standing.beside)
      endpoints.push_back(standby_endpoint(*node));
  return endpoints;
}

// --- who is away ---

/// A node whose connection broke comes back, unless its agent is dead, and its workers run on
/// meanwhile.
void RoundMachine::disconnected(Node& node, const std::string& reason, TimePoint now) {
  if (!may_come_back(node)) return lose(node, reason, now);
  node.away = true;
  node.away_because = reason;
  actions_.push_back(Knock{node.id(), standby_endpoint(node)});
}

bool RoundMachine::may_come_back(const Node& node) const {
  const bool in_round = node.phase() == Phase::kRunning || node.phase() == Phase::kFinished ||
                        node.phase() == Phase::kStopping;
  const bool keeps = rules_.has_successors ? may_succeed(node) : keeps_workers(node);
  return in_round && !is_over() && keeps;
}

/// Of an agent that nobody can knock at nobody knows whether it is dead.
bool RoundMachine::keeps_workers(const Node& node) const {
  return rules_.hosted && may_succeed(node);
}

bool RoundMachine::resumes(const Node& node, const Join& join) const {
  return may_come_back(node) && join.standing.running == round_ && join.standing.promised <= epoch_;
}

/// What was said over the old connection may be lost, so both say it again.
void RoundMachine::resume(Node& node, PeerId peer, const Join& join, TimePoint now) {
  nodes_.reconnect(node, peer, join, now);
  node.away = false;
  if (rules_.has_successors) take_standing(node, now);
  Joined answer = joined_answer(node, now);
  answer.resumed = true;
  let_in(node, std::move(answer), now);
  if (node.phase() == Phase::kStopping)
    send(peer,
         StopRound{round_, "the round is being stopped", 0, next_attempt(), stopped_at_once_});
}

/// Its workers are of no round of this coordinator.
void RoundMachine::send_to_stop(PeerId peer) {
  send(peer, Elsewhere{"", epoch_});
  actions_.push_back(DropPeer{peer, "its workers are of another round"});
}

void RoundMachine::knocked(const Knocked& answer, TimePoint now) {
  Node* const node = nodes_.find(answer.node);
  if (node != nullptr && node->away && answer.refused) lose(*node, node->away_because, now);
}

}  // namespace ddprun
