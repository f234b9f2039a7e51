// The part of CoordinatorMachine that decides who coordinates the job when its coordinator is lost:
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
  return node.join.voter.standby_port > 0 && !node.address.empty();
}

}  // namespace

// --- elections ---

void CoordinatorMachine::take_standing(Node& node, TimePoint now) {
  const VoterState& voter = node.join.voter;
  // The Join may be old. That does no harm as long as there are no voters who could elect another.
  node.confirmed = quorum_.exists() ? TimePoint{} : now;
  fences_end_ = std::max(fences_end_, now + milliseconds{voter.old_lease_ms});
  node.asked = node.promised = 0;
  recount_ = true;
  last_came_ = now;
  // So that the next round waits for nobody else: the first one of a job does.
  if (last_world_.contains(node.id())) round_ = std::max(round_, node.join.counters.round);
}

/// Whether the node takes orders from this coordinator, as it is. A coordinator that has no round
/// yet and meets a node of one is a later one of the same job: it needs votes, as any other.
bool CoordinatorMachine::obeys(const Node& node) const {
  const VoterState& voter = node.join.voter;
  if (rules_.has_referee) return coordinates() && voter.promised <= epoch_;
  const bool of_another_world = round_ == 0 && knows_a_round(voter);
  return coordinates() && voter.promised <= epoch_ && !of_another_world;
}

void CoordinatorMachine::hear_voter(Node& node) {
  if (node.has_voice()) nodes_.set_phase(node, Phase::kVoting);
  if (rules_.has_referee) return send(node.peer(), Candidate{nodes_.count(Phase::kVoting)});
  const bool newborn = coordinates() && round_ == 0 && !quorum_.exists();
  if (knows_a_round(node.join.voter)) may_begin_job_ = false;
  if (newborn && knows_a_round(node.join.voter)) become_candidate();
  send(node.peer(), Candidate{nodes_.count(Phase::kVoting)});
  given_ = std::max(given_, node.join.voter.promised);
  count_voter(node);
  call_election(node);
}

/// What the newcomer knows may change whose votes and promises are needed. Also a coordinator may
/// hear of a later round, when another one has been elected meanwhile.
void CoordinatorMachine::count_voter(const Node& node) {
  const JointQuorum before = quorum_;
  quorum_.hear(node.join.voter);
  const bool changed = quorum_ != before;
  if (changed) {
    recount_ = recount_voters_ = true;
  }
  if (quorum_.committed.version != before.committed.version) left_ = 0;  // of another round
  if (std::exchange(recount_voters_, false))
    voters_ = votes_of(&Node::has_voice);
  else if (node.has_voice())
    quorum_.count(voters_, node.join.voter);
}

/// A coordinator that has begun nothing yet needs votes, as any other.
void CoordinatorMachine::become_candidate() {
  state_ = State::kStandby;
  epoch_ = 0;
  nodes_.for_each([&](Node& node) {
    if (has_to_know(node)) nodes_.set_phase(node, Phase::kVoting);
  });
}

/// Asks for promises as soon as there are enough who could give one: all of them at first, and then
/// each that comes. One that has promised more to somebody else makes the question a greater one.
void CoordinatorMachine::call_election(Node& newcomer) {
  if (!can_elect()) return;
  if (asked_epoch_ > std::max(given_, epoch_)) return ask(newcomer);
  asked_epoch_ = std::max(given_, epoch_) + 1;
  recount_ = true;
  nodes_.for_each([&](Node& node) { ask(node); });
}

/// Whether those who are here could give enough promises.
bool CoordinatorMachine::can_elect() const {
  if (!quorum_.exists()) return coordinates();
  return quorum_.elects(voters_);
}

void CoordinatorMachine::ask(Node& node) {
  if (node.asked == asked_epoch_) return;
  node.asked = asked_epoch_;
  send(node.peer(), RequestVote{asked_epoch_, microseconds(last_step_)});
}

void CoordinatorMachine::promised(Node& node, const Vote& promise, TimePoint now) {
  if (promise.epoch != asked_epoch_ || node.asked != asked_epoch_) return;
  node.promised = node.join.voter.promised = promise.epoch;
  confirm(node, promise.echo_us, now);
  if (epoch_ == asked_epoch_) return take_on(node, now);
  count_promise(node);
  const bool alone = coordinates() && !quorum_.exists();  // no round was begun yet
  if (alone || quorum_.elects(promises_)) take_over(now);
}

/// In a job of thousands of nodes nobody counts all of them for each promise.
void CoordinatorMachine::count_promise(const Node& node) {
  const auto counts = [&](const Node& n) { return n.has_voice() && n.promised == asked_epoch_; };
  if (std::exchange(recount_, false))
    promises_ = votes_of(counts);
  else if (counts(node))
    quorum_.count(promises_, node.join.voter);
}

/// Now nobody else can be elected with a smaller epoch, and whoever gave orders before has lost the
/// majority.
void CoordinatorMachine::take_over(TimePoint now) {
  epoch_ = asked_epoch_;
  const bool reigned_all_the_time = coordinates() && now < authority_until_;
  if (!reigned_all_the_time) elected_ = true;  // somebody else may have been elected meanwhile
  forgotten_ = quorum_.is_joint() && promises_.unaware > 0 &&
               promises_.proposed < votes_to_win(quorum_.proposed.voters);
  if (forgotten_) {
    quorum_.abandon_proposal();
    recount_ = recount_voters_ = true;
  }
  if (!coordinates()) {
    state_ = State::kGathering;
    gathering_since_ = now;
    nodes_.for_each([&](const Node& node) {
      if (node.join.voter.colocated) rules_.endpoint = standby_endpoint(node);
    });
    nodes_.for_each([&](const Node& node) {
      if (node.join.voter.proposed.version.round == 0) return;
      round_ = std::max(round_, node.join.counters.round);
      attempt_ = std::max(attempt_, node.join.counters.attempt);
    });
    actions_.push_back(AnnounceLeader{epoch_, heralded()});
  }
  nodes_.for_each([&](Node& node) {
    if (node.promised == epoch_) take_on(node, now);
  });
  if (!verdict_) verdict_ = testament();
}

void CoordinatorMachine::take_on(Node& node, TimePoint now) {
  if (node.phase() != Phase::kVoting) return;
  let_in(node, joined_answer(node, now), now);
  nodes_.set_phase(node, node.join.witness ? Phase::kWitnessing : Phase::kReady);
  if (!node.join.witness) welcome(node);
}

/// Who joins hears which round has settled, too: it may have missed it.
void CoordinatorMachine::let_in(const Node& node, Joined answer, TimePoint now) {
  send(node.peer(), std::move(answer));
  if (quorum_.exists()) send(node.peer(), committed_beat(now));
}

Beat CoordinatorMachine::committed_beat(TimePoint now) const {
  return {.clock_us = microseconds(now),
          .committed = quorum_.committed.version.round,
          .epoch = quorum_.committed.version.epoch,
          .revision = quorum_.committed.version.revision,
          .committed_nodes = quorum_.committed.voters,
          .lease_ms = lease_ms(now)};
}

/// Somebody coordinates the job with the promises of more than half of the nodes.
void CoordinatorMachine::step_down(const HigherEpoch& by) {
  // Whoever waits for votes is disturbed only by one who is later than all who have voted.
  const std::int64_t known = coordinates() ? epoch_ : std::max(given_, asked_epoch_);
  if (!rules_.has_successors || state_ == State::kEnded || by.epoch <= known) return;
  may_begin_job_ = false;
  nodes_.for_each([&](const Node& node) {
    send(node.peer(), Redirect{by.coordinator, by.epoch});
    actions_.push_back(DropPeer{node.peer(), "the coordinator is at " + by.coordinator});
  });
  nodes_.clear();
  if (state_ == State::kRunning) watch_.end_round();
  state_ = State::kStandby;
  epoch_ = 0;
  quorum_ = {};
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
std::string CoordinatorMachine::awaited() const {
  std::vector<int> ranks;
  nodes_.for_each([&](const Node& node) {
    const int rank = rank_in(node.join.voter, quorum_.committed.version);
    if (has_to_know(node) && rank >= 0) ranks.push_back(rank);
  });
  std::ranges::sort(ranks);
  std::string list = format_number_list(ranks);
  return list.size() <= kRankListBytesMax ? list : "";
}

void CoordinatorMachine::note_round(const std::vector<Node*>& members) {
  round_nodes_ = static_cast<int>(members.size());
  voting_witness_.clear();
  stopped_at_once_ = false;
  begin_to_settle({{epoch_, round_}, round_nodes_, false});
  int rank = 0;
  for (Node* const member : members) {
    member->join.voter.proposed.member = true;
    member->join.voter.proposed.rank = rank++;
  }
  if (!rules_.has_referee) return settle_if_known();
  for (Node* const member : members) member->join.voter.committed = member->join.voter.proposed;
  quorum_.committed = quorum_.proposed;  // nobody votes
  elected_ = settles_ = false;
  left_ = unaware_ = 0;
  last_world_.clear();
}

/// All who obey this coordinator are told of the round, and settle it when they have said so.
void CoordinatorMachine::begin_to_settle(const Configuration& round) {
  quorum_.proposed = round;
  quorum_.awaited.clear();
  // Nobody can have voted before the first one, so all begin with its nodes.
  if (!quorum_.exists()) quorum_.committed = round;
  recount_ = recount_voters_ = true;
  unaware_ = 0;
  settles_ = true;
  nodes_.for_each([&](Node& node) {
    if (!has_to_know(node)) return;
    VoterState& voter = node.join.voter;
    if (voter.proposed.version == quorum_.committed.version) voter.committed = voter.proposed;
    voter.proposed = round;
    node.aware = rules_.has_referee;
    if (!node.aware) ++unaware_;
  });
}

bool CoordinatorMachine::has_to_know(const Node& node) const {
  const Phase phase = node.phase();
  return phase == Phase::kReady || phase == Phase::kRunning || phase == Phase::kFinished ||
         phase == Phase::kWitnessing;
}

void CoordinatorMachine::heard_of_round(Node& node, const ConfigurationVersion& round) {
  if (node.aware || round != quorum_.proposed.version) return;
  node.aware = true;
  --unaware_;
  settle_if_known();
}

void CoordinatorMachine::settle_if_known() {
  if (!settles_ || unaware_ > 0) return;
  settles_ = false;
  quorum_.committed = quorum_.proposed;
  recount_ = recount_voters_ = true;
  elected_ = false;
  left_ = 0;
  nodes_.for_each([&](const Node& node) {
    if (node.join.voter.proposed.version == quorum_.committed.version)
      send(node.peer(), committed_beat(last_step_));
  });
}

std::vector<std::string> CoordinatorMachine::successors(const std::vector<Node*>& members) const {
  std::vector<std::string> endpoints;
  if (!rules_.has_successors || rules_.has_referee) return endpoints;
  for (const Node* node : members)
    if (endpoints.size() < kSuccessorsMax && may_succeed(*node) && !node->join.voter.colocated)
      endpoints.push_back(standby_endpoint(*node));
  return endpoints;
}

// --- who is away ---

/// A node whose connection broke comes back, unless its agent is dead, and its workers run on
/// meanwhile.
void CoordinatorMachine::disconnected(Node& node, const std::string& reason, TimePoint now) {
  if (!may_come_back(node)) return lose(node, reason, now);
  node.away = true;
  node.away_because = reason;
  actions_.push_back(Probe{node.id(), standby_endpoint(node)});
}

bool CoordinatorMachine::may_come_back(const Node& node) const {
  const bool in_round = node.phase() == Phase::kRunning || node.phase() == Phase::kFinished ||
                        node.phase() == Phase::kStopping;
  const bool keeps = rules_.has_successors ? may_succeed(node) : keeps_workers(node);
  return in_round && !is_over() && keeps;
}

/// Of an agent that nobody can knock at nobody knows whether it is dead.
bool CoordinatorMachine::keeps_workers(const Node& node) const {
  return rules_.hosted && may_succeed(node);
}

bool CoordinatorMachine::resumes(const Node& node, const Join& join) const {
  return may_come_back(node) && join.voter.running == round_ && join.voter.promised <= epoch_;
}

/// What was said over the old connection may be lost, so both say it again.
void CoordinatorMachine::resume(Node& node, PeerId peer, const Join& join, TimePoint now) {
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
void CoordinatorMachine::send_to_stop(PeerId peer) {
  send(peer, Redirect{"", epoch_});
  actions_.push_back(DropPeer{peer, "its workers are of another round"});
}

void CoordinatorMachine::knocked(const Probed& answer, TimePoint now) {
  Node* const node = nodes_.find(answer.node);
  if (node != nullptr && node->away && answer.refused) lose(*node, node->away_because, now);
}

}  // namespace ddprun
