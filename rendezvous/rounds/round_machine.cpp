#include "rendezvous/rounds/round_machine.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/match.hpp"
#include "rendezvous/rounds/natural_order.hpp"

namespace ddprun {

namespace {

/// Ticks come at least this often, although nobody may be silent, so that a longer gap between two
/// steps shows that the coordinator itself has slept.
std::chrono::milliseconds check_interval(const RoundRules& rules) {
  return std::max(rules.heartbeat_timeout / 10, std::chrono::milliseconds{1});
}

/// Spells what must be the same on all nodes as options of the command line.
std::vector<std::string> spelled(const std::string& run_id, const JobTerms& terms) {
  const std::string min = std::to_string(terms.nodes_min);
  const std::string max = std::to_string(terms.nodes_max);
  return {"--rdzv-id=" + run_id, "--nnodes=" + (min == max ? max : min + ":" + max),
          "--max-restarts=" + std::to_string(terms.restarts_max),
          terms.store == StoreAt::kLocal ? "--store=local" : "--store=leader"};
}

/// Names the first option that differs, with both values; nullopt when all agree.
std::optional<std::string> difference(const RoundRules& rules, const Join& join) {
  const auto ours = spelled(rules.run_id, terms_of(rules));
  const auto theirs = spelled(join.run_id, join.terms);
  const auto [our, their] = std::ranges::mismatch(ours, theirs);
  if (our == ours.end()) return std::nullopt;
  return "options differ between the nodes: '" + *our + "' at the coordinator, '" + *their +
         "' on " + join.host;
}

/// Whether the failure may be the scheduler's doing. Schedulers send their warning to every
/// process, and a worker that does not handle the signal may die of it before its agent reports the
/// warning.
bool may_be_schedulers_doing(const EndJob& verdict) {
  if (!verdict.failure) return false;
  const int signal = verdict.failure->status.signal;
  return signal == SIGTERM || signal == SIGUSR1 || signal == SIGUSR2;
}

}  // namespace

RoundRules rules_of(const Join& join) {
  using Milliseconds = std::chrono::milliseconds;
  return {.run_id = join.run_id,
          .nodes_min = join.terms.nodes_min,
          .nodes_max = join.terms.nodes_max,
          .restarts_max = join.terms.restarts_max,
          .last_call_timeout = Milliseconds{join.terms.last_call_timeout_ms},
          .join_timeout = Milliseconds{join.terms.join_timeout_ms},
          .heartbeat_timeout = Milliseconds{join.terms.heartbeat_timeout_ms},
          .store = join.terms.store};
}

RoundMachine::RoundMachine(RoundRules rules, TimePoint now)
    : rules_{std::move(rules)}, gathering_since_{now}, last_step_{now} {}

std::vector<RoundAction> RoundMachine::step(const RoundEvent& event, TimePoint now) {
  forgive_after_own_sleep(now);
  match(
      event,  //
      [&](const FromNode& e) { receive(e.node, e.message, now); },
      [&](const NodeLost& e) { lose(e.node, e.reason); },  //
      [](const Tick&) {});
  lose_silent(now);  // on every step, because no Tick comes between the beats of many nodes
  advance(now);
  return std::exchange(actions_, {});
}

std::optional<TimePoint> RoundMachine::next_tick() const {
  if (state_ == State::kEnded) return std::nullopt;
  std::optional<TimePoint> due;
  const auto consider = [&](TimePoint t) { due = due ? std::min(*due, t) : t; };
  if (!nodes_.empty()) {
    consider(last_step_ + check_interval(rules_));
    consider(nodes_.most_silent().last_heard() + rules_.heartbeat_timeout);
  }
  if (state_ == State::kGathering) consider(gathering_ends());
  return due;
}

void RoundMachine::receive(const NodeId& id, const AgentMessage& message, TimePoint now) {
  if (const auto* join = std::get_if<Join>(&message)) return admit(*join, now);
  Node* const known = nodes_.find(id);
  if (known == nullptr) return;  // it was lost while this message was on its way
  Node& node = *known;
  nodes_.heard(node, now);
  match(
      message,             //
      [](const Join&) {},  // admitted above
      [&](const Beat&) { answer_beat(id, now); },
      [](const WhoIsThere&) {},  // Server answers it where it comes instead of a Join
      [&](const WorkerFailed& m) { worker_failed(node, m); },
      [&](const WorkersFinished& m) { workers_finished(node, m); },
      [&](const WorkersStopped& m) { workers_stopped(node, m); },
      [&](const Preempt& m) { preempt(m); },  //
      [&](const Leave& m) { lose(id, m.reason); });
}

void RoundMachine::answer_beat(const NodeId& id, TimePoint now) {
  if (state_ != State::kGathering) return send(id, Beat{});
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(gathering_ends() - now);
  send(id, Waiting{nodes_.count(Phase::kReady), rules_.nodes_min, rules_.nodes_max, left.count()});
}

void RoundMachine::admit(const Join& join, TimePoint now) {
  if (const auto reason = refusal_of(join)) {
    send(join.node, Refused{*reason});
    actions_.push_back(DropNode{join.node, *reason});
    return;
  }
  nodes_.add(join, arrivals_++, now);
  send(join.node, Joined{rules_.heartbeat_timeout.count()});
  if (state_ != State::kRunning) return;
  if (members() < rules_.nodes_max)
    stop_round("node " + join.host + " joined");
  else
    send(join.node, Spare{round_, members()});
}

/// Why the node cannot take part; nullopt when it can.
std::optional<std::string> RoundMachine::refusal_of(const Join& join) const {
  if (join.protocol != kProtocolVersion)
    return "this job speaks protocol version " + std::to_string(kProtocolVersion) +
           ", the agent on " + join.host + " version " + std::to_string(join.protocol) +
           ": use the same ddprun on all nodes";
  if (state_ == State::kEnded) return "the job has already ended";
  if (auto differs = difference(rules_, join)) return differs;
  if (const Node* other = nodes_.with_wanted_rank(join.node_rank))
    return "node rank " + std::to_string(join.node_rank) + " is " + other->join.host +
           "'s already, " + join.host + " asks for it, too (--node-rank)";
  return std::nullopt;
}

void RoundMachine::worker_failed(Node& node, const WorkerFailed& report) {
  // Only the first failure of a running round counts; the rest are consequences.
  if (state_ != State::kRunning || report.round != round_ || node.phase() != Phase::kRunning)
    return;
  if (attempt_ >= rules_.restarts_max)
    verdict_ = EndJob{EndJob::Outcome::kFailed, attempt_, "", report.failure};
  else
    ++attempt_;
  stop_round("rank " + std::to_string(report.failure.rank) + " " + describe(report.failure.status));
}

void RoundMachine::workers_finished(Node& node, const WorkersFinished& report) {
  if (report.round == round_ && node.phase() == Phase::kRunning)
    nodes_.set_phase(node, Phase::kFinished);
}

void RoundMachine::workers_stopped(Node& node, const WorkersStopped& report) {
  if (report.round == round_ && node.phase() == Phase::kStopping)
    nodes_.set_phase(node, Phase::kReady);
}

/// Ends the job after a checkpoint. Every node hears from the scheduler; the first report is
/// enough.
void RoundMachine::preempt(const Preempt& report) {
  if (state_ == State::kEnded || (verdict_ && !may_be_schedulers_doing(*verdict_))) return;
  verdict_ = EndJob{EndJob::Outcome::kPreempted, attempt_, report.reason, {}};
  if (state_ == State::kRunning) stop_round(report.reason, report.checkpoint_ms);
}

void RoundMachine::lose(const NodeId& id, const std::string& reason) {
  Node* const node = nodes_.find(id);
  if (node == nullptr) return;
  const Phase phase = node->phase();
  last_loss_ = "node " + node->join.host + " lost: " + reason;
  nodes_.remove(*node);
  actions_.push_back(DropNode{id, reason});
  if (state_ == State::kRunning && phase == Phase::kRunning) stop_round(last_loss_);
}

void RoundMachine::lose_silent(TimePoint now) {
  while (!nodes_.empty() && now - nodes_.most_silent().last_heard() >= rules_.heartbeat_timeout)
    lose(NodeId{nodes_.most_silent().id()},
         "silent for " + std::to_string(rules_.heartbeat_timeout.count()) + " ms");
}

/// A coordinator that was itself stopped (by Ctrl-Z, on a frozen machine) has heard nobody
/// meanwhile, so nobody's silence counts until now.
void RoundMachine::forgive_after_own_sleep(TimePoint now) {
  if (now - last_step_ > rules_.heartbeat_timeout / 2) nodes_.all_heard(now);
  last_step_ = now;
}

/// Goes on to the next state when its time has come.
void RoundMachine::advance(TimePoint now) {
  if (state_ == State::kRunning && nodes_.count(Phase::kRunning) == 0)
    return end({EndJob::Outcome::kFinished, attempt_, "", {}});
  if (state_ == State::kStopping && nodes_.count(Phase::kStopping) == 0) gather(now);
  if (state_ != State::kGathering) return;
  if (verdict_) return end(*verdict_);
  time_last_call(now);
  if (ready_to_seal(now)) return seal();
  if (now >= gathering_ends()) end(timed_out());
}

void RoundMachine::stop_round(const std::string& reason, std::int64_t checkpoint_ms) {
  state_ = State::kStopping;
  nodes_.for_each([&](Node& node) {
    if (node.phase() != Phase::kRunning && node.phase() != Phase::kFinished) return;
    nodes_.set_phase(node, Phase::kStopping);
    send(node.id(), StopRound{round_, reason, checkpoint_ms});
  });
}

void RoundMachine::gather(TimePoint now) {
  state_ = State::kGathering;
  gathering_since_ = now;
}

/// The last call begins when MIN nodes are ready for the first round. When a node is lost so that
/// fewer are ready, the job waits for MIN again, and the next last call begins anew.
void RoundMachine::time_last_call(TimePoint now) {
  if (nodes_.count(Phase::kReady) < rules_.nodes_min || round_ > 0)
    last_call_ends_.reset();
  else if (!last_call_ends_)
    last_call_ends_ = now + rules_.last_call_timeout;
}

/// A later round does not wait for more than MIN nodes, because those that are ready have work to
/// go on with.
bool RoundMachine::ready_to_seal(TimePoint now) const {
  const int ready = nodes_.count(Phase::kReady);
  if (ready < rules_.nodes_min) return false;
  return ready >= rules_.nodes_max || round_ > 0 || now >= gathering_ends();
}

/// When the waiting for nodes ends: with the last call there are enough, without it too few.
TimePoint RoundMachine::gathering_ends() const {
  return last_call_ends_.value_or(gathering_since_ + rules_.join_timeout);
}

void RoundMachine::seal() {
  const std::vector<Node*> ranked = order_by_rank(choose_members());
  StartRound start{.round = ++round_,
                   .attempt = attempt_,
                   .group_world_size = static_cast<int>(ranked.size()),
                   .world_size = 0,
                   .master_addr = rules_.master_addr,
                   .master_port = rules_.master_port};
  std::map<std::string, int> role_sizes;
  for (const Node* node : ranked) {
    start.world_size += node->join.workers;
    role_sizes[node->join.role] += node->join.workers;
  }
  actions_.push_back(OpenStore{round_, start.world_size});
  std::map<std::string, int> role_ranks;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    Node& node = *ranked[i];
    nodes_.set_phase(node, Phase::kRunning);
    node.group_rank = start.group_rank = static_cast<int>(i);
    start.first_role_rank = role_ranks[node.join.role];
    start.role_world_size = role_sizes[node.join.role];
    send(node.id(), start);
    start.first_rank += node.join.workers;
    role_ranks[node.join.role] += node.join.workers;
  }
  nodes_.for_each([&](const Node& node) {
    if (node.phase() == Phase::kReady) send(node.id(), Spare{round_, start.group_world_size});
  });
  state_ = State::kRunning;
}

void RoundMachine::end(EndJob verdict) {
  state_ = State::kEnded;
  nodes_.for_each([&](const Node& node) { send(node.id(), verdict); });
}

/// Chooses at most MAX of the ready nodes: first those of the round before, then by arrival.
std::vector<RoundMachine::Node*> RoundMachine::choose_members() {
  std::vector<Node*> ready;
  nodes_.for_each([&](Node& node) {
    if (node.phase() == Phase::kReady) ready.push_back(&node);
  });
  std::ranges::sort(ready, {}, [](const Node* node) {
    return std::pair{node->group_rank < 0, node->arrival};
  });
  ready.resize(std::min<std::size_t>(ready.size(), rules_.nodes_max));
  return ready;
}

/// Gives every rank to the node that asked for it, else to the one that had it, else to a newcomer,
/// in the order of their host names and then of their arrival. The result's index is the rank.
std::vector<RoundMachine::Node*> RoundMachine::order_by_rank(std::vector<Node*> unplaced) {
  std::vector<Node*> ranked(unplaced.size());
  const auto place = [&](auto wanted_rank) {
    std::erase_if(unplaced, [&](Node* node) {
      const int rank = wanted_rank(*node);
      if (rank < 0 || rank >= std::ssize(ranked) || ranked[rank] != nullptr) return false;
      ranked[rank] = node;
      return true;
    });
  };
  place([](const Node& node) { return node.join.node_rank; });
  place([](const Node& node) { return node.group_rank; });
  std::ranges::stable_sort(unplaced, [](const Node* a, const Node* b) {
    return naturally_before(a->join.host, b->join.host);
  });
  auto next = unplaced.begin();
  for (Node*& slot : ranked)
    if (slot == nullptr) slot = *next++;
  return ranked;
}

/// How many nodes of the running round are still there.
int RoundMachine::members() const {
  return nodes_.count(Phase::kRunning) + nodes_.count(Phase::kFinished);
}

EndJob RoundMachine::timed_out() const {
  std::string message = "waited " + std::to_string(rules_.join_timeout.count() / 1000) +
                        " s for nodes: " + std::to_string(nodes_.count(Phase::kReady)) +
                        " there, " + std::to_string(rules_.nodes_min) + " needed";
  if (!last_loss_.empty()) message += " (" + last_loss_ + ")";
  return {EndJob::Outcome::kTimedOut, attempt_, std::move(message), {}};
}

void RoundMachine::send(const NodeId& node, CoordinatorMessage message) {
  actions_.push_back(SendTo{node, std::move(message)});
}

}  // namespace ddprun
