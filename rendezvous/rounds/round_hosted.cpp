// The part of CoordinatorMachine for jobs that a `ddprun server` hosts: what becomes of a round
// when the server is started again. docs/protocol.md, section "A server that is started again",
// says why workers of two rounds are never alive together.

#include <algorithm>
#include <utility>

#include "base/endpoint.hpp"
#include "rendezvous/rounds/round_machine.hpp"

namespace ddprun {

namespace {

using Phase = Roster::Phase;
using Node = Roster::Node;

/// Ports below it are the system's.
constexpr int kStorePortMin = 1024;

bool is_same_round(const HostedAssignment& a, const HostedAssignment& b) {
  return a.round == b.round && a.nodes == b.nodes && a.world_size == b.world_size &&
         a.store_port == b.store_port;
}

bool is_possible(const HostedAssignment& seat, int workers) {
  return seat.nodes >= 1 && seat.group_rank >= 0 && seat.group_rank < seat.nodes &&
         seat.first_rank >= 0 && seat.first_rank <= seat.world_size - workers &&
         seat.world_size / seat.nodes <= kWorkersPerNodeMax && seat.store_port >= 0 &&
         seat.store_port <= kPortMax;
}

}  // namespace

/// Workers that a server of before has left have ended by then, unless this one lets them go on: no
/// lease is as long as a heartbeat timeout.
TimePoint CoordinatorMachine::workers_of_before_end() const {
  return rules_.hosted_since + rules_.heartbeat_timeout;
}

/// Whether a server of before may have left workers that this one knows nothing of. Nodes that have
/// never heard of a round cannot tell that there is none.
bool CoordinatorMachine::workers_may_be_left(TimePoint now) const {
  const bool all_are_known = returning_ && returning_->absent.empty();
  return rules_.hosted && !all_are_known && now < workers_of_before_end();
}

/// Whether the node, whose workers run, has its place in the round that goes on, or that may.
bool CoordinatorMachine::returns(const Join& join, TimePoint now) const {
  const HostedAssignment& seat = join.voter.assignment;
  const bool in_time = rules_.hosted && !verdict_ && now < workers_of_before_end();
  const bool fits = seat.nodes <= rules_.nodes_max && seat.round == join.voter.running;
  if (!in_time || !fits || !is_possible(seat, join.workers)) return false;
  if (nodes_.with_wanted_rank(join.node_rank) != nullptr) return false;
  if (returning_)
    return state_ == State::kRunning && is_same_round(returning_->round, seat) &&
           returning_->absent.contains(seat.group_rank) && join.counters.attempt == attempt_;
  return state_ == State::kGathering && round_ == 0 && nobody_knows_more(join);
}

/// Nobody who is here has stopped its workers of that round, or knows that it was to be stopped.
bool CoordinatorMachine::nobody_knows_more(const Join& join) const {
  bool more = false;
  nodes_.for_each([&](const Node& node) {
    more |= node.join.voter.assignment.round >= join.voter.running ||
            node.join.counters.round > join.voter.running ||
            node.join.counters.attempt > join.counters.attempt;
  });
  return !more;
}

/// The round of before goes on, as the first of its nodes tells of it.
void CoordinatorMachine::go_on_with(const Join& join, TimePoint now) {
  const HostedAssignment& seat = join.voter.assignment;
  returning_.emplace(Returning{seat, {}});
  for (int rank = 0; rank < seat.nodes; ++rank) returning_->absent.insert(rank);
  round_ = seat.round;
  attempt_ = join.counters.attempt;
  state_ = State::kRunning;
  store_is_new_ = true;
  const bool may_listen = seat.store_port >= kStorePortMin;
  actions_.push_back(OpenStore{round_, seat.world_size, may_listen ? seat.store_port : 0});
  inquest_.begin_round(round_);
  found_.reset();
  watch_.begin_round(seat.world_size, {}, now);
  times_.sealed(round_, 0, now);
  chronicle_.sealed(round_, attempt_, seat.nodes, seat.world_size, now);
}

void CoordinatorMachine::take_back(PeerId peer, const Join& join, const std::string& address,
                                   TimePoint now) {
  if (!returning_) go_on_with(join, now);
  const HostedAssignment& seat = join.voter.assignment;
  Node& node = nodes_.add(peer, join, arrivals_++, now);
  node.address = address;
  node.group_rank = seat.group_rank;
  node.first_rank = seat.first_rank;
  nodes_.set_phase(node, Phase::kRunning);
  chronicle_.came(join.host);
  watch_.add(node.id());
  inquest_.seat(node.id(), join.host, seat.first_rank, join.workers);
  returning_->absent.erase(seat.group_rank);
  Joined answer = joined_answer(node, now);
  answer.resumed = true;
  let_in(node, std::move(answer), now);
  if (!returning_->absent.empty()) return;
  std::vector<Node*> waiting;
  nodes_.for_each([&](Node& other) {
    if (other.phase() == Phase::kReady) waiting.push_back(&other);
  });
  for (const Node* const other : waiting) welcome(*other);
}

/// A node that was in the round is here, and its workers have ended.
void CoordinatorMachine::came_back_stopped(const Node& node) {
  if (!returning_ || !is_same_round(returning_->round, node.join.voter.assignment)) return;
  returning_->absent.erase(node.join.voter.assignment.group_rank);
  if (state_ == State::kRunning)
    stop_round("node " + node.join.host + " has stopped its workers while the server was away");
}

/// Those who have not come back have stopped their workers.
void CoordinatorMachine::give_up_absent(TimePoint now) {
  const bool waits = returning_ && !returning_->absent.empty();
  if (!waits || state_ != State::kRunning || now < workers_of_before_end()) return;
  stop_round(std::to_string(returning_->absent.size()) + " of " +
             std::to_string(returning_->round.nodes) +
             " nodes have not come back after the server was started again");
}

void CoordinatorMachine::store_gone(const StoreGone& event) {
  if (state_ == State::kRunning && event.round == round_)
    stop_round("the server cannot open the port of the store again: " + event.reason);
}

}  // namespace ddprun
