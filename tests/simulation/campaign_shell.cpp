#include "tests/simulation/campaign_shell.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/match.hpp"

namespace ddprun::simulation {

namespace {

std::string list_of(const std::vector<std::string>& nodes) {
  std::string text;
  for (const std::string& node : nodes) text += " " + node;
  return nodes.empty() ? " nobody" : text;
}

std::string text_of(const Campaign::Action& said) {
  const auto in_ms = [](TimePoint time) {
    return std::to_string(
        std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count());
  };
  return match(
      said,
      [&](const Campaign::Elected& e) {
        return "elected with epoch " + std::to_string(e.epoch) + (e.by_death ? " by death" : "") +
               (e.newcomer ? " as a newcomer" : "") + ", members of " +
               std::to_string(e.members.epoch) + ":" + list_of(e.members.nodes) +
               (e.members.verdict.empty() ? "" : ", the job has ended");
      },
      [&](const Campaign::Held& e) {
        return "alone until " + in_ms(e.alone) + " ms, members until " + in_ms(e.members) + " ms";
      },
      [](const Campaign::MembersWritten& e) { return "written:" + list_of(e.nodes); },
      [](const Campaign::MembersExpired&) { return std::string{"the members have expired"}; },
      [](const Campaign::Replaced& e) {
        return "replaced by " + e.endpoint + " with epoch " + std::to_string(e.epoch);
      },
      [](const auto&) { return std::string{}; });
}

}  // namespace

CampaignShell::CampaignShell(World& world, Watcher& watcher, SimulatedEtcd& etcd, int host,
                             Campaign::Rules rules, Listener tell)
    : world_{world},
      watcher_{watcher},
      etcd_{etcd},
      host_{host},
      rules_{std::move(rules)},
      tell_{std::move(tell)},
      campaign_{rules_} {}

void CampaignShell::seek(const Campaign::Seek& wish, TimePoint deadline,
                         OwnProcess::Sought sought) {
  const int search = ++searches_;
  sought_ = std::move(sought);
  step(wish);
  world_.time.at(deadline, [this, search] { give_up_seeking(search); });
}

void CampaignShell::give_up_seeking(int search) {
  if (frozen_) return held_.push_back([this, search] { give_up_seeking(search); });
  if (!campaign_ || search != searches_ || !sought_) return;
  step(Campaign::SeekNoMore{});
  found(std::nullopt);
}

/// Posted: the agent has another event loop.
void CampaignShell::found(const std::optional<Campaign::Found>& where) {
  if (!sought_) return;
  world_.time.after(milliseconds{0},
                    [sought = std::exchange(sought_, {}), where] { sought(where); });
}

void CampaignShell::hear(const Campaign::Event& event) {
  if (frozen_) return held_.push_back([this, event] { hear(event); });
  step(event);
}

void CampaignShell::step(const Campaign::Event& event) {
  if (!campaign_ || (closed_ && campaign_->is_done())) return;
  for (const Campaign::Action& action : campaign_->step(event, world_.time.now())) perform(action);
  arm();
}

void CampaignShell::perform(const Campaign::Action& action) {
  if (const auto* wish = std::get_if<Campaign::Ask>(&action))
    ask(wish->request);
  else if (const auto* where = std::get_if<Campaign::Found>(&action))
    found(*where);
  else if (!closed_)
    tell(action);
}

void CampaignShell::tell(const Campaign::Action& said) {
  world_.trace.note(world_.time.now(),
                    [&] { return "etcd > c" + std::to_string(host_) + ": " + text_of(said); });
  const auto* elected = std::get_if<Campaign::Elected>(&said);
  const bool finds_nothing = elected && elected->members == MembersRecord{};
  if (finds_nothing && !elected->newcomer) watcher_.members_forgotten();
  if ((finds_nothing && elected->newcomer) ||
      std::holds_alternative<Campaign::MembersExpired>(said))
    watcher_.job_begins_anew();
  if (std::holds_alternative<Campaign::VerdictWritten>(said)) watcher_.verdict_written();
  tell_(said);
}

/// What comes too late is answered no more, and done all the same.
void CampaignShell::ask(const EtcdRequest& request) {
  const int question = ++questions_;
  is_asking_ = true;
  etcd_.ask(host_, rules_.endpoint, request,
            [this, question](const EtcdAnswer& answer) { answered(question, answer); });
  world_.time.after(etcd_answer_timeout(rules_.heartbeat_timeout),
                    [this, question] { answered(question, NotAnswered{"no answer"}); });
}

void CampaignShell::answered(int question, const EtcdAnswer& answer) {
  if (question != questions_ || !is_asking_) return;
  if (frozen_) return held_.push_back([this, question, answer] { answered(question, answer); });
  is_asking_ = false;
  step(Campaign::Answer{answer});
}

void CampaignShell::tick() {
  if (frozen_ || !campaign_ || (closed_ && campaign_->is_done())) return;
  const auto due = campaign_->next_tick();
  if (due && world_.time.now() >= *due) {
    step(Campaign::Tick{});
    watcher_.rang("campaign", campaign_->next_tick());
  }
  arm();
}

void CampaignShell::arm() {
  timer_.set(campaign_->next_tick(), [this] { tick(); });
}

/// What is due and what came meanwhile is seen in any order.
void CampaignShell::thaw() {
  if (!frozen_) return;
  frozen_ = false;
  if (world_.random.chance(50)) tick();
  std::vector<Timeline::Task> held = std::exchange(held_, {});
  if (world_.random.chance(30)) std::ranges::reverse(held);  // deadlines before answers
  for (const Timeline::Task& task : held) task();
  tick();
}

void CampaignShell::end() {
  campaign_.reset();
  sought_ = {};
  held_.clear();
  is_asking_ = frozen_ = closed_ = false;
}

void CampaignShell::begin_again() { campaign_.emplace(rules_); }

}  // namespace ddprun::simulation
