#include "worker_sdk/elastic/agent_line.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "ddprun/worker_env.hpp"
#include "tests/support/catch.hpp"

namespace ddprun::sdk {

namespace {

using nlohmann::json;

/// An agent that a test speaks for. It is at DDPRUN_CONTROL as long as it lives.
class Agent {
 public:
  Agent() {
    char name[] = "/tmp/ddprun-line-XXXXXX";
    folder_ = mkdtemp(name);
    const std::string path = folder_ / "agent";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(listen(listener_, 1) == 0);
    setenv(env::kControl, (path + ":2").c_str(), 1);
  }
  ~Agent() {
    unsetenv(env::kControl);
    hang_up();
    close(listener_);
    std::filesystem::remove_all(folder_);
  }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  void accept_worker() { connection_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC); }
  json hear() {
    std::string line;
    for (char letter = 0; letter != '\n'; line += letter)
      if (::read(connection_, &letter, 1) != 1) return "closed";
    return json::parse(line);
  }
  void say(const std::string& text) const {
    REQUIRE(::write(connection_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void hang_up() {
    if (connection_ >= 0) close(connection_);
    connection_ = -1;
  }

 private:
  std::filesystem::path folder_;
  int listener_ = -1;
  int connection_ = -1;
};

struct Connected {
  std::unique_ptr<AgentLine> line;
  json hello;
};

AgentLine::Orders no_orders() {
  return {.hold = [](std::int64_t) { return 0; },
          .leave_after = [](auto&&...) {},
          .leave = [](auto&&...) {},
          .agent_has_gone = [] {}};
}

/// A worker that the agent has answered with `answer`.
Connected connected(Agent& agent, const std::string& answer,
                    const AgentLine::Orders& orders = no_orders()) {
  auto line = std::async(std::launch::async,
                         [&] { return AgentLine::connect(3, /*resize=*/false, orders); });
  agent.accept_worker();
  json hello = agent.hear();
  agent.say(answer);
  return {line.get(), std::move(hello)};
}

constexpr char kWelcome[] = "{\"type\":\"welcome\",\"patience_s\":0.05}\n";

}  // namespace

TEST_CASE("elastic: a worker tells its agent who it is, when it is parked, and that it goes") {
  Agent agent;
  auto [line, hello] = connected(agent, kWelcome);
  REQUIRE(line);
  CHECK(hello == json{{"type", "hello"}, {"local_rank", 2}, {"round", 3}, {"resize", false}});
  line->say_parked(3);
  CHECK(agent.hear() == json{{"type", "parked"}, {"round", 3}});
  line.reset();
  CHECK(agent.hear() == json{{"type", "goodbye"}});
  CHECK(agent.hear() == "closed");
}

TEST_CASE("elastic: the order to leave comes in a thread, and the one to enter with variables") {
  Agent agent;
  std::promise<std::int64_t> left;
  AgentLine::Orders orders = no_orders();
  orders.leave = [&](const AgentLine& from, std::int64_t round) {
    from.say_stuck(round);
    left.set_value(round);
  };
  auto [line, hello] = connected(agent, kWelcome, orders);
  REQUIRE(line);
  // In pieces, as a stream may bring them.
  agent.say("{\"type\":\"leave\",");
  agent.say("\"round\":3,\"why\":\"rank 1 has failed\"}\n{\"type\":\"en");
  CHECK(left.get_future().get() == 3);
  CHECK(agent.hear() == json{{"type", "stuck"}, {"round", 3}});
  agent.say("ter\",\"round\":4,\"environment\":{\"RANK\":\"1\"}}\n");
  const auto entrance = line->await_entrance([] { return true; });
  REQUIRE(entrance);
  CHECK(entrance->environment == std::map<std::string, std::string>{{"RANK", "1"}});
}

TEST_CASE("elastic: who is held says how far it has come, and hears behind which step it leaves") {
  Agent agent;
  std::promise<std::pair<std::int64_t, std::int64_t>> limit;
  AgentLine::Orders orders = no_orders();
  orders.hold = [](std::int64_t round) { return round == 3 ? 17 : -1; };
  orders.leave_after = [&](std::int64_t round, std::int64_t step) {
    limit.set_value({round, step});
  };
  auto [line, hello] = connected(agent, kWelcome, orders);
  REQUIRE(line);
  agent.say("{\"type\":\"hold\",\"round\":2}\n{\"type\":\"hold\",\"round\":3}\n");
  CHECK(agent.hear() == json{{"type", "holding"}, {"round", 2}, {"step", -1}});
  CHECK(agent.hear() == json{{"type", "holding"}, {"round", 3}, {"step", 17}});
  agent.say("{\"type\":\"leave_after\",\"round\":3,\"step\":19}\n");
  CHECK(limit.get_future().get() == std::pair<std::int64_t, std::int64_t>{3, 19});
}

TEST_CASE("elastic: who cannot answer yet how far it has come does so later") {
  Agent agent;
  AgentLine::Orders orders = no_orders();
  orders.hold = [](std::int64_t round) {
    return round == 3 ? std::nullopt : std::optional<std::int64_t>{-1};
  };
  auto [line, hello] = connected(agent, kWelcome, orders);
  REQUIRE(line);
  agent.say("{\"type\":\"hold\",\"round\":3}\n{\"type\":\"hold\",\"round\":2}\n");
  CHECK(agent.hear() == json{{"type", "holding"}, {"round", 2}, {"step", -1}});
  line->say_holding(3, 17);
  CHECK(agent.hear() == json{{"type", "holding"}, {"round", 3}, {"step", 17}});
}

TEST_CASE("elastic: a worker hears that its agent has gone, or says what no agent would") {
  for (const std::string last : {"", "{\"type\":\"hold\"}\n"}) {
    Agent agent;
    std::promise<void> gone;
    AgentLine::Orders orders = no_orders();
    orders.agent_has_gone = [&] { gone.set_value(); };
    auto [line, hello] = connected(agent, kWelcome, orders);
    REQUIRE(line);
    agent.say(last);
    if (last.empty()) agent.hang_up();
    CHECK(gone.get_future().wait_for(std::chrono::seconds{5}) == std::future_status::ready);
  }
}

TEST_CASE("elastic: a worker waits for an order as long as the agent's patience, and no longer") {
  Agent agent;
  auto [line, hello] = connected(agent, kWelcome);
  REQUIRE(line);
  CHECK_FALSE(line->await_entrance([] { return false; }));
}

TEST_CASE("elastic: a worker that was started beside a round waits for its place without an end") {
  Agent agent;
  auto [line, hello] = connected(agent, kWelcome);
  REQUIRE(line);
  auto entrance = std::async(std::launch::async, [&] { return line->first_entrance(); });
  CHECK(agent.hear() == json{{"type", "parked"}, {"round", kNoRound}});
  std::this_thread::sleep_for(std::chrono::milliseconds{100});  // twice the agent's patience
  agent.say("{\"type\":\"enter\",\"round\":4,\"environment\":{\"RANK\":\"1\"}}\n");
  CHECK(entrance.get().environment == std::map<std::string, std::string>{{"RANK", "1"}});
  agent.hang_up();
  CHECK_THROWS_WITH(line->first_entrance(),
                    contains("its agent has gone before it could enter one"));
}

TEST_CASE("elastic: a worker whose agent is gone waits for nothing") {
  Agent agent;
  auto [line, hello] = connected(agent, kWelcome);
  REQUIRE(line);
  agent.hang_up();
  CHECK_FALSE(line->await_entrance([] { return true; }));
}

TEST_CASE("elastic: there is no line if no process listens, or one that is no agent") {
  CHECK_FALSE(AgentLine::connect(0, /*resize=*/true, no_orders()));
  setenv(env::kControl, "/nowhere/agent:0", 1);
  CHECK_FALSE(AgentLine::connect(0, /*resize=*/true, no_orders()));
  Agent agent;
  CHECK_FALSE(connected(agent, "no JSON\n").line);
  CHECK_FALSE(connected(agent, "{\"type\":\"welcome\"}\n").line);
  CHECK_FALSE(connected(agent, std::string(70'000, ' ') + "\n").line);
}

}  // namespace ddprun::sdk
