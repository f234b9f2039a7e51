#include "tests/simulation/coordinator_shell.hpp"

#include <utility>

#include "base/match.hpp"
#include "rendezvous/leadership/first_place_start.hpp"

namespace ddprun::simulation {

void CoordinatorShell::begin() {
  rules_.server_since = world_.time.now();
  machine_.emplace(rules_, world_.time.now());
  awake_since_ = world_.time.now();
  asked_at_.reset();
  arm();
}

void CoordinatorShell::receive(LinkId link, const Parcel& parcel) {
  if (frozen_) return held_.push_back([this, link, parcel] { receive(link, parcel); });
  if (gone_) return;
  if (std::holds_alternative<HangUp>(parcel)) return hung_up(link);
  if (const auto* sent_away = std::get_if<CoordinatorMessage>(&parcel)) {
    const auto& elsewhere = std::get<Redirect>(*sent_away);  // by the witness
    if (elsewhere.epoch > 0) step(HigherEpoch{elsewhere.epoch, elsewhere.coordinator});
    return give_up_invitation(link);
  }
  const auto& message = std::get<AgentMessage>(parcel);
  const auto* join = std::get_if<Join>(&message);
  if (join != nullptr && join->witness) {
    if (invitation_ != link) return world_.network.close(link, Side::kCoordinator);
    invitation_.reset();
  }
  if (join != nullptr) agents_.insert(link);
  step(FromPeer{link, message, "host" + std::to_string(world_.network.host_of_agent(link))});
}

void CoordinatorShell::hung_up(LinkId link) {
  world_.network.close(link, Side::kCoordinator);
  if (invitation_ == link) invitation_.reset();
  // Gone already when the node left or was dropped.
  if (agents_.contains(link)) step(PeerLost{link, "connection closed"});
}

void CoordinatorShell::step(const CoordinatorEvent& event) {
  const std::vector<CoordinatorAction> actions = machine_->step(event, world_.time.now());
  watcher_.coordinator_did(*this, event, actions);
  for (const CoordinatorAction& action : actions) perform(action);
  arm();
}

void CoordinatorShell::perform(const CoordinatorAction& action) {
  match(
      action,
      [&](const SendTo& a) {
        const auto link = static_cast<LinkId>(a.peer);
        if (agents_.contains(link)) world_.network.send(link, Side::kCoordinator, a.message);
      },
      [&](const DropPeer& a) {
        const auto link = static_cast<LinkId>(a.peer);
        if (agents_.erase(link) > 0) world_.network.finish(link, Side::kCoordinator);
      },
      [&](const OpenStore& a) { open_store(a); },
      [&](const RecallNodes& a) { recall_nodes(a.question); },
      [&](const RememberNode& a) { world_.node_failures.push_back(a.failure); },
      [&](const Probe& a) { probe(a); }, [&](const AskLeaders& a) { ask_leaders(a); },
      [&](const InviteWitnesses& a) { invite_witness(a.invitation); },
      [&](const AnnounceLeader& a) { announce(a); }, [&](const WriteMembers& a) { ask_etcd_(a); },
      [&](const PublishVerdict& a) { ask_etcd_(a); });
}

/// The memory of nodes takes its time, and sometimes does not answer, or answers that it cannot.
void CoordinatorShell::recall_nodes(int question) {
  if (world_.random.chance(5)) return;
  const int life = lives_;
  world_.time.after(world_.random.time(milliseconds{0}, 2 * kRecallTimeout),
                    [this, life, question] {
                      if (life != lives_ || gone_ || frozen_ || machine_->ended()) return;
                      if (world_.random.chance(10)) return step(NodesRecalled{question, {}});
                      step(NodesRecalled{question, world_.node_failures});
                    });
}

/// Somebody else may have taken the port at which the store was.
void CoordinatorShell::open_store(const OpenStore& order) {
  if (order.port == 0 || world_.random.chance(90)) return;
  const int life = lives_;
  world_.time.after(milliseconds{0}, [this, life, round = order.round] {
    if (life == lives_ && !gone_ && !frozen_) step(StoreGone{round, "taken"});
  });
}

void CoordinatorShell::tick() {
  if (frozen_ || gone_) return;
  const auto due = machine_->next_tick();
  if (due && world_.time.now() >= *due) {
    step(Tick{});
    watcher_.rang("coordinator", machine_->next_tick());
  }
  arm();
}

void CoordinatorShell::arm() {
  timer_.set(machine_->next_tick(), [this] { tick(); });
}

/// What is due and what came meanwhile is seen in any order.
void CoordinatorShell::thaw() {
  if (!frozen_) return;
  frozen_ = false;
  awake_since_ = world_.time.now();
  if (world_.random.chance(50)) tick();
  for (const Timeline::Task& task : std::exchange(held_, {})) task();
  tick();
}

void CoordinatorShell::end(bool told) {
  gone_ = true;
  frozen_ = false;
  held_.clear();
  agents_.clear();
  invitation_.reset();
  world_.network.refuse(number_);
  world_.network.lose_coordinator(told, number_);
}

void CoordinatorShell::begin_again() {
  gone_ = false;
  ++lives_;
  ++world_.coordinators;
  world_.network.listen(number_);
  watcher_.coordinator_begins_again();
  begin();
}

/// The number of the coordinator at an endpoint, which is its port.
int number_at(const std::string& endpoint) {
  return std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
}

bool CoordinatorShell::reachable_from(int host) const {
  return world_.network.can_connect(host, world_.network.host_of(number_));
}

/// No process answers on a host that is off or cut off.
void CoordinatorShell::probe(const Probe& order) {
  if (probing_) return probe_agent(order);
  const CoordinatorShell* const other = others_(number_at(order.endpoint));
  if (other == nullptr || !other->reachable_from(world_.network.host_of(number_))) return;
  const bool refused = other->gone();
  world_.time.after(world_.random.time(milliseconds{0}, 2 * Network::kDelayMax),
                    [this, order, refused] {
                      if (!gone_ && !frozen_) step(Probed{order.node, refused});
                    });
}

void CoordinatorShell::probe_agent(const Probe& order) {
  const std::optional<bool> refused = probing_(order.endpoint);
  if (!refused) return;
  const int life = lives_;
  world_.time.after(world_.random.time(milliseconds{0}, 2 * Network::kDelayMax),
                    [this, life, order, refused] {
                      if (life == lives_ && !gone_ && !frozen_) step(Probed{order.node, *refused});
                    });
}

/// Before it begins a job that may have a coordinator elsewhere. Answers that come while it is
/// frozen wait in the system.
void CoordinatorShell::ask_leaders(const AskLeaders& order) {
  asked_at_ = world_.time.now();
  LeadersFound found{{}, true};
  for (const std::string& endpoint : order.endpoints) {
    const std::optional<Leader> told = told_at(endpoint);
    if (!told) found.all = false;
    if (told && told->epoch >= found.leader.epoch && *told != Leader{}) found.leader = *told;
  }
  const int life = lives_;
  world_.time.after(world_.random.time(milliseconds{0}, Network::kDelayMax),
                    [this, life, found] { hear_leaders(life, found); });
}

void CoordinatorShell::hear_leaders(int life, const LeadersFound& found) {
  if (life != lives_ || gone_) return;
  if (frozen_) return held_.push_back([this, life, found] { hear_leaders(life, found); });
  step(found);
}

/// The next question comes within its pause, as long as there is one.
bool CoordinatorShell::may_begin_job() const {
  const bool asks = rules_.begins == Begins::kAsking && epoch() == 0;
  if (gone_ || !asks) return false;
  return !asked_at_ || frozen_ || world_.time.now() <= *asked_at_ + 2 * kAskPause;
}

/// What is answered there; nullopt: nothing.
std::optional<Leader> CoordinatorShell::told_at(const std::string& place) {
  const int host = world_.network.host_of(number_);
  if (witness_ != nullptr && number_at(place) == WitnessShell::kNumber) {
    const bool refused = witness_->gone() && world_.network.can_connect(host, WitnessShell::kHost);
    return refused ? Leader{} : witness_->tells(host);
  }
  const CoordinatorShell* const other = others_(number_at(place));
  const bool answers = other != nullptr && !other->frozen() && other->reachable_from(host);
  if (!answers) return std::nullopt;
  return other->gone() ? Leader{} : other->leader();
}

/// The connection is made from here, and the witness is what an agent is on it. An invitation that
/// is not answered yet is the only one.
void CoordinatorShell::invite_witness(const InviteWitness& invitation) {
  if (witness_ == nullptr || invitation_ || witness_->gone() ||
      !world_.network.can_connect(world_.network.host_of(number_), WitnessShell::kHost))
    return;
  const LinkId link = world_.network.connect(WitnessShell::kHost, WitnessShell::kNumber, number_);
  invitation_ = link;
  world_.time.after(world_.random.time(milliseconds{0}, Network::kDelayMax),
                    [this, link, invitation] { witness_->invited(link, invitation); });
  world_.time.after(milliseconds{1'000}, [this, link] {
    if (invitation_ == link) give_up_invitation(link);
  });
}

void CoordinatorShell::give_up_invitation(LinkId link) {
  if (invitation_ != link) return;
  invitation_.reset();
  world_.network.close(link, Side::kCoordinator);
}

void CoordinatorShell::agent_follows(const Leader& leader) {
  if (!gone_ && !frozen_) step(AgentFollows{leader});
}

/// Events after the end of the job come too late.
void CoordinatorShell::hear_etcd(const CoordinatorEvent& said) {
  if (frozen_) return held_.push_back([this, said] { hear_etcd(said); });
  if (!gone_ && !machine_->ended()) step(said);
}

void CoordinatorShell::announce(const AnnounceLeader& order) {
  for (const std::string& endpoint : order.endpoints) {
    CoordinatorShell* const other = others_(number_at(endpoint));
    if (other == nullptr || other == this) continue;
    if (other->reachable_from(world_.network.host_of(number_)))
      world_.time.after(world_.random.time(milliseconds{0}, Network::kDelayMax), [order, other] {
        other->told_of({order.epoch, order.coordinator});
      });
  }
}

void CoordinatorShell::told_of(const HigherEpoch& other) {
  if (!gone_ && !frozen_) step(other);
}

}  // namespace ddprun::simulation
