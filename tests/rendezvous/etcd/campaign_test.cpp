// Campaign: to find the coordinator by etcd, to become it, and to remain it.
#include "rendezvous/etcd/campaign.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/rendezvous/etcd/fake_etcd.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

constexpr auto kBeatTimeout = 5s;

/// Agents that ask one etcd, which answers at once unless it is cut off from them.
class CampaignFixture {
 protected:
  struct Agent {
    explicit Agent(const std::string& endpoint) : campaign{{endpoint, kBeatTimeout, 3}} {}
    Campaign campaign;
    bool cut_off = false;
    std::optional<Campaign::Found> found;
    std::optional<Campaign::Elected> elected;
    std::optional<Campaign::Replaced> replaced;
    std::optional<Campaign::MembersWritten> begun;
    bool members_expired = false;
    Campaign::Held held{};
    TimePoint answer_due;
    std::optional<EtcdRequest> asked;
  };

  Agent& agent(const std::string& name) { return agents_.try_emplace(name, name).first->second; }

  void says(const std::string& name, const Campaign::Event& event) {
    take(agent(name), agent(name).campaign.step(event, now_));
    serve();
  }
  void passes(std::chrono::milliseconds time) {
    const auto end = now_ + time;
    for (;;) {
      std::optional<TimePoint> next;
      for (auto& [name, a] : agents_) {
        const auto due = a.asked ? std::optional{a.answer_due} : a.campaign.next_tick();
        if (due && (!next || *due < *next)) next = due;
      }
      if (!next || *next > end) break;
      now_ = std::max(now_, *next);
      for (auto& [name, a] : agents_)
        if (!a.asked && a.campaign.next_tick() && *a.campaign.next_tick() <= now_)
          take(a, a.campaign.step(Campaign::Tick{}, now_));
      serve();
    }
    now_ = end;
    etcd_.remove_what_has_ended(now_);
  }
  void seeks(const std::string& name, Campaign::Seek wish = {}) {
    agent(name).found.reset();
    says(name, wish);
  }
  void take(Agent& a, const std::vector<Campaign::Action>& actions) {
    for (const auto& action : actions) {
      if (const auto* ask = std::get_if<Campaign::Ask>(&action)) {
        a.asked = ask->request;
        a.answer_due = a.cut_off ? now_ + 1s : now_;
      }
      if (const auto* found = std::get_if<Campaign::Found>(&action)) a.found = *found;
      if (const auto* elected = std::get_if<Campaign::Elected>(&action)) a.elected = *elected;
      if (const auto* held = std::get_if<Campaign::Held>(&action)) a.held = *held;
      if (const auto* gone = std::get_if<Campaign::Replaced>(&action)) a.replaced = *gone;
      if (const auto* begun = std::get_if<Campaign::MembersWritten>(&action)) a.begun = *begun;
      if (std::holds_alternative<Campaign::MembersExpired>(action)) a.members_expired = true;
    }
  }
  /// Until nobody's answer is due.
  void serve() {
    for (bool any = true; any;) {
      any = false;
      for (auto& [name, a] : agents_) {
        if (!a.asked || a.answer_due > now_) continue;
        any = true;
        const EtcdRequest request = *std::exchange(a.asked, std::nullopt);
        const EtcdAnswer answer =
            a.cut_off ? EtcdAnswer{NotAnswered{"no answer"}} : etcd_.answer(request, name, now_);
        take(a, a.campaign.step(Campaign::Answer{answer}, now_));
      }
    }
  }
  std::vector<std::string> members() const { return etcd_.read().members.nodes; }

  FakeEtcd etcd_;
  std::map<std::string, Agent> agents_;
  TimePoint now_ = TimePoint{} + 1h;
};

TEST_CASE_METHOD(CampaignFixture, "who comes first coordinates, and the others find it") {
  seeks("a:1");
  REQUIRE(agent("a:1").elected);
  CHECK(agent("a:1").elected->epoch > 0);
  CHECK_FALSE(agent("a:1").elected->by_death);
  CHECK(agent("a:1").found->endpoint == "a:1");
  seeks("b:1");
  CHECK(agent("b:1").found->endpoint == "a:1");
  CHECK(agent("b:1").found->epoch == agent("a:1").elected->epoch);
  CHECK_FALSE(agent("b:1").elected);
}

TEST_CASE_METHOD(CampaignFixture, "a coordinator that renews its lease remains it") {
  seeks("a:1");
  for (int i = 0; i < 20; ++i) {
    passes(1s);
    CHECK(agent("a:1").held.alone > now_ + 2s);
  }
  seeks("b:1");
  CHECK(agent("b:1").found->endpoint == "a:1");
}

TEST_CASE_METHOD(CampaignFixture, "a coordinator knows that its time is over before etcd does") {
  seeks("a:1");
  passes(3s);
  agent("a:1").cut_off = true;
  seeks("b:1", {.in_job = true, .lost = agent("a:1").campaign.epoch()});
  while (!agent("b:1").elected) {
    passes(10ms);
    REQUIRE(now_ < TimePoint{} + 1h + 20s);
  }
  CHECK(agent("a:1").held.alone + 400ms <= now_);
  CHECK(agent("b:1").elected->epoch > agent("a:1").elected->epoch);
  CHECK_FALSE(agent("b:1").elected->by_death);
}

TEST_CASE_METHOD(CampaignFixture, "who knows that the coordinator is dead follows it at once") {
  seeks("a:1");
  agent("a:1").cut_off = true;
  seeks("b:1", {.in_job = true, .lost = agent("a:1").campaign.epoch(), .gone = true});
  REQUIRE(agent("b:1").elected);
  CHECK(agent("b:1").elected->by_death);
}

TEST_CASE_METHOD(CampaignFixture, "a coordinator that was wrongly taken for dead learns so") {
  seeks("a:1");
  passes(500ms);
  seeks("b:1", {.in_job = true, .lost = agent("a:1").campaign.epoch(), .gone = true});
  passes(1s);
  REQUIRE(agent("a:1").replaced);
  CHECK(agent("a:1").replaced->endpoint == "b:1");
  CHECK(agent("a:1").campaign.epoch() == 0);
  // An agent that takes the key in this way waits for a heartbeat timeout.
  CHECK(agent("a:1").held.alone < now_ + kBeatTimeout);
}

TEST_CASE_METHOD(CampaignFixture,
                 "members are written down before a round begins, and read by the successor") {
  seeks("a:1");
  says("a:1", Campaign::WriteMembers{{"n1", "n2"}, 3});
  REQUIRE(agent("a:1").begun);
  CHECK(members() == std::vector<std::string>{"n1", "n2"});
  CHECK(agent("a:1").held.members > now_ + kBeatTimeout * 20);
  const auto epoch = agent("a:1").campaign.epoch();
  seeks("b:1", {.in_job = true, .lost = epoch, .gone = true});
  const MembersRecord& found = agent("b:1").elected->members;
  CHECK(found == MembersRecord{epoch, {"n1", "n2"}, "", found.revision, 3});
}

TEST_CASE_METHOD(CampaignFixture, "who is not the coordinator any more writes down no members") {
  seeks("a:1");
  seeks("b:1", {.in_job = true, .lost = agent("a:1").campaign.epoch(), .gone = true});
  says("a:1", Campaign::WriteMembers{{"n1"}});
  CHECK_FALSE(agent("a:1").begun);
  CHECK(members().empty());
  CHECK(agent("a:1").replaced);
  says("a:1", Campaign::WriteMembers{{"n1"}});
  CHECK_FALSE(agent("a:1").campaign.next_tick());
}

TEST_CASE_METHOD(CampaignFixture,
                 "a coordinator gets the key again when nobody else has taken it") {
  seeks("a:1");
  says("a:1", Campaign::WriteMembers{{"n1", "n2"}});
  const auto first = agent("a:1").campaign.epoch();
  agent("a:1").cut_off = true;
  passes(60s);
  CHECK_FALSE(etcd_.read().holder);
  CHECK(agent("a:1").held.alone < now_);
  CHECK(agent("a:1").held.members > now_);
  agent("a:1").cut_off = false;
  passes(2s);
  CHECK(agent("a:1").campaign.epoch() > first);
  CHECK(agent("a:1").elected->members.epoch == first);
  CHECK(agent("a:1").held.alone > now_);
}

TEST_CASE_METHOD(CampaignFixture, "without etcd members are held for as long as etcd keeps them") {
  seeks("a:1");
  says("a:1", Campaign::WriteMembers{{"n1"}});
  agent("a:1").cut_off = true;
  while (!members().empty()) {
    passes(100ms);
    REQUIRE(now_ < TimePoint{} + 3h);
  }
  CHECK(agent("a:1").held.members < now_);
}

TEST_CASE_METHOD(CampaignFixture,
                 "a newcomer hears when etcd has forgotten members that have all gone") {
  seeks("a:1");
  says("a:1", Campaign::WriteMembers{{"n1"}});
  const TimePoint held = agent("a:1").held.members;
  agent("a:1").cut_off = true;  // as good as dead
  passes(6s);
  seeks("b:1");
  REQUIRE(agent("b:1").elected);
  CHECK(agent("b:1").elected->newcomer);
  CHECK(agent("b:1").elected->members.nodes.size() == 1);
  while (now_ < held) {
    CHECK_FALSE(agent("b:1").members_expired);
    passes(5s);
  }
  passes(20s);
  CHECK(agent("b:1").members_expired);
}

TEST_CASE_METHOD(CampaignFixture, "an agent that has missed the verdict gets it") {
  seeks("a:1");
  says("a:1", Campaign::WriteMembers{{"n1"}});
  says("a:1", Campaign::JobEnded{"verdict"});
  CHECK(agent("a:1").campaign.is_done());
  seeks("b:1", {.in_job = true});
  CHECK(agent("b:1").elected->members.verdict == "verdict");
}

TEST_CASE_METHOD(CampaignFixture, "a new job of the same name does not end as the one before") {
  seeks("a:1");
  says("a:1", Campaign::JobEnded{"verdict"});
  seeks("b:1");
  REQUIRE(agent("b:1").elected);
  CHECK(agent("b:1").elected->members.verdict.empty());
  says("b:1", Campaign::WriteMembers{{"n2"}});
  CHECK(agent("b:1").begun);
}

TEST_CASE_METHOD(CampaignFixture, "an election whose answer was lost is found out") {
  seeks("a:1");
  Agent& a = agent("a:1");
  a = Agent{"a:1"};  // as if it had never heard
  seeks("a:1");
  CHECK(a.elected);
  CHECK(a.found->endpoint == "a:1");
}

TEST_CASE_METHOD(CampaignFixture, "a coordinator that is only silent is tried again") {
  seeks("a:1");
  seeks("b:1", {.in_job = true, .lost = agent("a:1").campaign.epoch()});
  CHECK_FALSE(agent("b:1").found);
  passes(6s);
  CHECK(agent("b:1").found->endpoint == "a:1");
}

/// Agents that seek, are cut off, die and come back at random, with answers that are lost or late.
class RandomCampaigns {
 public:
  explicit RandomCampaigns(std::uint32_t seed) : random_{seed} {}

  void run() {
    for (int i = 0; i < 4; ++i) begin(i);
    for (int i = 0; i < 4'000; ++i) {
      now_ += std::chrono::milliseconds{below(40)};
      etcd_.remove_what_has_ended(now_);
      disturb();
      for (auto& agent : agents_) act(agent);
    }
  }
  int elections() const { return elections_; }

 private:
  struct Agent {
    std::string name;
    std::optional<Campaign> campaign;
    bool cut_off = false;
    struct Asked {
      EtcdRequest request;
      TimePoint arrives;
      TimePoint answered;
      bool served = false;
      EtcdAnswer answer = NotAnswered{"no answer"};
    };
    std::optional<Asked> asked;
    TimePoint alone;
    bool dead = false;
  };

  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint32_t>(limit)); }
  /// Usually next to nothing.
  std::chrono::milliseconds some_time() {
    return std::chrono::milliseconds{below(10) == 0 ? below(500) : below(5)};
  }
  void begin(int i) {
    Agent agent;
    agent.name = "a" + std::to_string(i) + "." + std::to_string(++lives_) + ":1";
    agent.campaign.emplace(Campaign::Rules{agent.name, 2s, 4});
    agents_.resize(std::max<std::size_t>(agents_.size(), static_cast<std::size_t>(i) + 1));
    agents_[static_cast<std::size_t>(i)] = std::move(agent);
  }
  void disturb() {
    if (below(150) == 0) agents_[static_cast<std::size_t>(below(4))].cut_off ^= true;
    if (below(400) == 0) {
      const int i = below(4);
      Agent& old = agents_[static_cast<std::size_t>(i)];
      dead_.insert(old.campaign->epoch());
      if (old.asked && !old.asked->served) late_.push_back({old.name, *old.asked});
      begin(i);
    }
    std::erase_if(late_, [&](auto& late) {
      if (now_ < late.second.arrives) return false;
      etcd_.answer(late.second.request, late.first, now_);
      return true;
    });
  }
  void act(Agent& agent) {
    if (agent.asked) {
      auto& asked = *agent.asked;
      if (!asked.served && now_ >= asked.arrives && !agent.cut_off) {
        asked.served = true;
        const EtcdAnswer answer = etcd_.answer(asked.request, agent.name, now_);
        if (below(20) != 0) asked.answer = answer;
      }
      if (now_ >= asked.answered) {
        if (!asked.served && below(2) == 0) late_.push_back({agent.name, asked});
        const EtcdAnswer answer = asked.answer;
        agent.asked.reset();
        step(agent, Campaign::Answer{answer});
      }
    } else if (agent.campaign->next_tick() && now_ >= *agent.campaign->next_tick()) {
      step(agent, Campaign::Tick{});
    } else if (below(10) == 0 && agent.campaign->epoch() == 0) {
      const auto holder = etcd_.read().holder;
      const std::int64_t lost = holder && below(2) == 0 ? holder->epoch : 0;
      step(agent, Campaign::Seek{true, lost, dead_.contains(lost) && lost > 0});
    }
    if (below(10) == 0 && agent.campaign->epoch() > 0)
      step(agent, Campaign::WriteMembers{{agent.name, std::to_string(below(3))}});
  }
  void step(Agent& agent, const Campaign::Event& event) {
    for (const auto& action : agent.campaign->step(event, now_)) {
      if (const auto* ask = std::get_if<Campaign::Ask>(&action)) {
        const auto arrives = now_ + some_time();
        agent.asked = {ask->request, arrives, arrives + some_time()};
      } else if (const auto* elected = std::get_if<Campaign::Elected>(&action)) {
        was_elected(agent, *elected);
      } else if (const auto* held = std::get_if<Campaign::Held>(&action)) {
        agent.alone = held->alone;
      } else if (const auto* begun = std::get_if<Campaign::MembersWritten>(&action)) {
        // Unless there is a successor already, this is what it will read.
        if (etcd_.read().holder && etcd_.read().holder->epoch == agent.campaign->epoch())
          REQUIRE(etcd_.read().members.nodes == begun->nodes);
      }
    }
  }
  void was_elected(Agent& agent, const Campaign::Elected& elected) {
    ++elections_;
    REQUIRE(epochs_.insert(elected.epoch).second);
    for (const Agent& other : agents_) {
      const bool rules = other.name != agent.name && other.campaign->epoch() > 0;
      if (!rules) continue;
      if (elected.by_death)
        REQUIRE(other.alone <= now_ + 2s);
      else
        REQUIRE(other.alone <= now_);
    }
  }

  std::mt19937 random_;
  FakeEtcd etcd_;
  std::vector<Agent> agents_;
  std::vector<std::pair<std::string, Agent::Asked>> late_;
  std::set<std::int64_t> dead_;
  std::set<std::int64_t> epochs_;
  int lives_ = 0;
  int elections_ = 0;
  TimePoint now_ = TimePoint{} + 1h;
};

TEST_CASE("whatever is lost or late, nobody is elected while another one may go on") {
  int elections = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    RandomCampaigns campaigns{seed};
    campaigns.run();
    elections += campaigns.elections();
  }
  CHECK(elections > 1'000);
}

}  // namespace
}  // namespace ddprun
