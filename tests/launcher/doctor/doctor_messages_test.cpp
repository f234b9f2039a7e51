#include "launcher/doctor/ask/doctor_messages.hpp"

#include "tests/launcher/doctor/readings_fixture.hpp"

namespace ddprun {
namespace {

std::string without_newline(std::string line) {
  REQUIRE(line.ends_with('\n'));
  line.pop_back();
  REQUIRE(line.find('\n') == std::string::npos);
  return line;
}

ToNode sent_to_node(const ToNode& message) {
  const auto back = decode_to_node(without_newline(encode(message)));
  REQUIRE(back.has_value());
  return *back;
}

FromNode sent_from_node(const FromNode& message) {
  const auto back = decode_from_node(without_newline(encode(message)));
  REQUIRE(back.has_value());
  return *back;
}

TEST_CASE("what a node is asked arrives as it was sent") {
  const auto examine = std::get<Examine>(sent_to_node(Examine{.node = "h1",
                                                              .keeps_checkpoints = true,
                                                              .script = "train.py",
                                                              .environment = {{"A", "b=c"}},
                                                              .token = "t"}));
  CHECK(examine.keeps_checkpoints);
  CHECK(examine.node == "h1");
  CHECK(examine.script == "train.py");
  CHECK(examine.environment == std::map<std::string, std::string>{{"A", "b=c"}});
  CHECK(examine.token == "t");
  CHECK(std::holds_alternative<AskClock>(sent_to_node(AskClock{})));
  const auto visit =
      std::get<VisitPeers>(sent_to_node(VisitPeers{{{"h2", "10.0.0.2", 4711, "NCCL", "node-2"}}}));
  REQUIRE(visit.peers.size() == 1);
  CHECK(visit.peers[0].node == "h2");
  CHECK(visit.peers[0].host == "10.0.0.2");
  CHECK(visit.peers[0].port == 4711);
  CHECK(visit.peers[0].use == "NCCL");
  CHECK(visit.peers[0].name == "node-2");
}

TEST_CASE("what a node answers arrives as it was sent") {
  const auto examined =
      std::get<Examined>(sent_from_node(Examined{recorded("ecc_error"), "10.0.0.1", 4711}));
  CHECK(examined.reading.gpus->gpus[1].uncorrected_errors == 3);
  CHECK(examined.host == "10.0.0.1");
  CHECK(examined.port == 4711);
  CHECK(std::get<ClockTold>(sent_from_node(ClockTold{1'760'000'000'000'001})).unix_us ==
        1'760'000'000'000'001);
  const PeersVisited sent{{.links = {{.node = "h2", .use = "Gloo", .small_only = true}},
                           .peer_names = {{"h2", {.question = "node-2", .answers = {"10.0.0.2"}}}},
                           .shares_with = std::vector<std::string>{"h1"},
                           .shares_logs_with = std::vector<std::string>{}}};
  const PeersReading visited = std::get<PeersVisited>(sent_from_node(sent)).peers;
  REQUIRE(visited.links.size() == 1);
  CHECK(visited.links[0].small_only);
  CHECK(visited.links[0].use == "Gloo");
  CHECK(visited.shares_with == std::vector<std::string>{"h1"});
  CHECK(visited.shares_logs_with == std::vector<std::string>{});
  REQUIRE(visited.peer_names.size() == 1);
  CHECK(visited.peer_names[0].lookup.answers == std::vector<std::string>{"10.0.0.2"});
}

TEST_CASE("questions and answers of measurements arrive as they were sent") {
  CHECK(std::holds_alternative<PrepareBench>(sent_to_node(PrepareBench{})));
  CHECK(std::holds_alternative<MeasureNode>(sent_to_node(MeasureNode{})));
  const auto asked =
      std::get<MeasureLink>(sent_to_node(MeasureLink{{"h2", "10.0.0.2", 4711, "", ""}}));
  CHECK(asked.peer.node == "h2");
  CHECK(asked.peer.host == "10.0.0.2");
  CHECK(asked.peer.port == 4711);
  const auto ready = std::get<BenchReady>(sent_from_node(BenchReady{"", 4711}));
  CHECK(ready.machine.empty());
  CHECK(ready.port == 4711);
  const auto node = std::get<NodeMeasured>(
      sent_from_node(NodeMeasured{{.node = "h1", .cpus = {{.cpu = 3, .wall_ms = 9}}}}));
  REQUIRE(node.speeds.cpus.size() == 1);
  CHECK(node.speeds.cpus[0].cpu == 3);
  const auto link = std::get<LinkMeasured>(
      sent_from_node(LinkMeasured{{.from = "h1", .to = "h2", .rtt_us = 80}}));
  CHECK(link.speed.to == "h2");
  CHECK(link.speed.rtt_us == 80);
}

TEST_CASE("messages that make no sense are refused, and greetings are no messages") {
  for (const char* line :
       {"", "{}", "[1]", R"({"doctor":2,"clock":true})", R"({"doctor":1,"peers":[{"node":"h1"}]})",
        R"({"doctor":1})", R"({"doctor":1,"unix_us":1e300})", R"({"doctor":1,"bench":"all"})",
        R"({"doctor":1,"link":{}})", R"({"doctor":1,"machine":"m","port":70000})",
        R"({"doctor":1,"machine":"m","port":1e300})", R"({"doctor":1,"machine":3,"port":1})",
        R"({"doctor":1,"speeds":{"node":"h","cpus":[],"memory":{}}})",
        R"({"doctor":1,"reading":{},"host":"h","port":70000})",
        R"({"doctor":1,"peers":[{"node":"h1","host":"h","port":70000,"use":"","name":""}]})"}) {
    INFO(line);
    CHECK_FALSE(decode_to_node(line).has_value());
    CHECK_FALSE(decode_from_node(line).has_value());
  }
  CHECK(is_doctors_line(encode(ToNode{AskClock{}})));
  CHECK_FALSE(is_doctors_line("Last login: today"));
}

}  // namespace
}  // namespace ddprun
