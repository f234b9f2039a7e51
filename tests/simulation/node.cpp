#include "tests/simulation/node.hpp"

#include <utility>

#include "base/match.hpp"
#include "rendezvous/etcd/election_words.hpp"
#include "rendezvous/messages/job_terms.hpp"

namespace ddprun::simulation {

std::string host_name(int host) { return "host" + std::to_string(host); }

std::string endpoint_of(int host) { return host_name(host) + ":" + std::to_string(host + 1); }

Node::Node(World& world, Watcher& watcher, int host, CoordinatorRules rules,
           CoordinatorShell::Others others, SimulatedEtcd* etcd)
    : world_{world},
      watcher_{watcher},
      host_{host},
      coordinator_{world, watcher, host + 1, std::move(rules), std::move(others)} {
  if (etcd != nullptr) campaign_with(*etcd);
  agent_ = std::make_unique<AgentShell>(world_, watcher_, host + 1, host, 0, this);
}

void Node::add_agent() {
  const int before = static_cast<int>(before_.size());
  agent_ = std::make_unique<AgentShell>(world_, watcher_, host_ + 1, host_, before, this);
}

/// Both are in one event loop, and speak to each other without a delay.
void Node::campaign_with(SimulatedEtcd& etcd) {
  const CoordinatorRules& rules = world_.plan.rounds;
  campaign_ = std::make_unique<CampaignShell>(
      world_, watcher_, etcd, host_,
      Campaign::Rules{endpoint_of(host_), rules.terms.heartbeat_timeout, rules.terms.nodes_max},
      [this](const Campaign::Action& said) {
        tell_coordinator(said, [this](const auto& event) { coordinator_.hear_etcd(event); });
      });
  coordinator_.ask_etcd_with([this](const CoordinatorAction& wish) {
    match(
        wish, [&](const WriteMembers& a) { campaign_->hear(for_etcd(a)); },
        [&](const PublishVerdict& a) { campaign_->hear(for_etcd(a)); }, [](const auto&) {});
  });
}

/// The coordinator has an event loop of its own.
void Node::led_by(const Leader& leader) {
  world_.time.after(milliseconds{0}, [this, leader] { coordinator_.agent_follows(leader); });
}

void Node::seek(const Campaign::Seek& wish, TimePoint deadline, Sought sought) {
  world_.time.after(milliseconds{0},
                    [this, wish, deadline, sought] { campaign_->seek(wish, deadline, sought); });
}

/// If nodes vote, it hears candidates for a while yet.
void Node::agent_ended() {
  if (campaign_ == nullptr) return;
  world_.time.after(milliseconds{0}, [this, agent = agent_.get()] {
    if (agent != agent_.get() || coordinator_.gone()) return;
    campaign_->close();
    coordinator_.end(true);
  });
  world_.time.after(kLastWords, [this, agent = agent_.get()] {
    if (agent == agent_.get() && agent->gone()) campaign_->end();
  });
}

void Node::kill() {
  agent_->kill();
  coordinator_.end(true);
  if (campaign_) campaign_->end();
}

void Node::power_off() {
  agent_->power_off();
  coordinator_.end(false);
  if (campaign_) campaign_->end();
  off_ = true;
}

void Node::freeze() {
  agent_->freeze();
  coordinator_.freeze();
  if (campaign_) campaign_->freeze();
}

void Node::thaw() {
  agent_->thaw();
  coordinator_.thaw();
  if (campaign_) campaign_->thaw();
}

/// It knows nothing of what was before.
void Node::start_again() {
  before_.push_back(std::move(agent_));
  add_agent();
  if (campaign_) campaign_->begin_again();
  coordinator_.begin_again();
  agent_->start();
}

}  // namespace ddprun::simulation
