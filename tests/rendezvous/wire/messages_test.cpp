#include "rendezvous/wire/messages.hpp"

#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using nlohmann::json;

const WorkerFailure kFailure{.host = "h1",
                             .group_rank = 1,
                             .rank = 5,
                             .local_rank = 1,
                             .pid = 4711,
                             .status = {.signal = 11, .core_dumped = true},
                             .time_unix_ms = 1'700'000'000'123,
                             .message = "ValueError: x",
                             .error_file = "/tmp/error.json",
                             .last_heartbeat = "step 120, 0.4 s before",
                             .last_lines = {"one", "two"}};

template <typename Message>
AgentMessage through_the_wire(const Message& message) {
  const std::string line = encode(AgentMessage{message});
  REQUIRE(line.back() == '\n');
  const auto decoded = decode_agent_message(std::string_view{line}.substr(0, line.size() - 1));
  REQUIRE(decoded.has_value());
  return *decoded;
}

template <typename Message>
CoordinatorMessage back_through_the_wire(const Message& message) {
  const auto decoded = decode_coordinator_message(encode(CoordinatorMessage{message}));
  REQUIRE(decoded.has_value());
  return *decoded;
}

std::string error_of(std::string_view line) {
  const auto decoded = decode_agent_message(line);
  REQUIRE(decoded.has_error());
  return decoded.error().message;
}

TEST_CASE("every message of an agent arrives as it was sent") {
  const Join join{.run_id = "job",
                  .node = "n1",
                  .host = "h1",
                  .workers = 4,
                  .node_rank = 2,
                  .terms = {.store = StoreAt::kLocal}};
  CHECK(through_the_wire(join) == AgentMessage{join});
  CHECK(through_the_wire(Beat{}) == AgentMessage{Beat{}});
  CHECK(through_the_wire(WorkerFailed{3, kFailure}) == AgentMessage{WorkerFailed{3, kFailure}});
  CHECK(through_the_wire(WorkersFinished{3}) == AgentMessage{WorkersFinished{3}});
  CHECK(through_the_wire(WorkersStopped{4}) == AgentMessage{WorkersStopped{4}});
  CHECK(through_the_wire(Leave{"SIGTERM"}) == AgentMessage{Leave{"SIGTERM"}});
  CHECK(through_the_wire(WhoIsThere{"a"}) == AgentMessage{WhoIsThere{"a"}});
  CHECK(through_the_wire(Preempt{"why", 9}) == AgentMessage{Preempt{"why", 9}});
}

TEST_CASE("every message of the coordinator arrives as it was sent") {
  const StartRound start{.round = 2,
                         .attempt = 1,
                         .group_rank = 1,
                         .group_world_size = 3,
                         .first_rank = 4,
                         .world_size = 10,
                         .first_role_rank = 4,
                         .role_world_size = 10,
                         .master_addr = "10.0.0.1",
                         .master_port = 29400};
  const EndJob failed{EndJob::Outcome::kFailed, 2, "", kFailure};
  const EndJob finished{EndJob::Outcome::kFinished, 0, "", {}};
  CHECK(back_through_the_wire(Joined{5000}) == CoordinatorMessage{Joined{5000}});
  CHECK(back_through_the_wire(Refused{"no"}) == CoordinatorMessage{Refused{"no"}});
  const Introduction introduction{"another job", 4711, "h1"};
  CHECK(back_through_the_wire(introduction) == CoordinatorMessage{introduction});
  CHECK(back_through_the_wire(Waiting{1, 2, 3, 4}) == CoordinatorMessage{Waiting{1, 2, 3, 4}});
  CHECK(back_through_the_wire(Spare{2, 3}) == CoordinatorMessage{Spare{2, 3}});
  CHECK(back_through_the_wire(start) == CoordinatorMessage{start});
  CHECK(back_through_the_wire(StopRound{2, "why"}) == CoordinatorMessage{StopRound{2, "why"}});
  CHECK(back_through_the_wire(StopRound{2, "why", 9}) ==
        CoordinatorMessage{StopRound{2, "why", 9}});
  CHECK(back_through_the_wire(failed) == CoordinatorMessage{failed});
  CHECK(back_through_the_wire(finished) == CoordinatorMessage{finished});
}

TEST_CASE("a message is one line that begins with the byte by which agents are known") {
  const std::string line = encode(AgentMessage{Leave{"two\nlines"}});
  CHECK(line.front() == kAgentFirstByte);
  CHECK(line.find('\n') == line.size() - 1);
}

TEST_CASE("output of a worker that is not UTF-8 does not break the message") {
  WorkerFailure failure = kFailure;
  failure.last_lines = {"caf\xe9 \xff"};
  const auto message = std::get<WorkerFailed>(through_the_wire(WorkerFailed{1, failure}));
  CHECK(message.failure.last_lines.front() == "caf\xef\xbf\xbd \xef\xbf\xbd");
}

TEST_CASE("a line that is no message is an error that says what is wrong with it") {
  CHECK_THAT(error_of("GET / HTTP/1.1"), contains("malformed message"));
  CHECK_THAT(error_of(R"({"type":"dance"})"), contains("unknown message type 'dance'"));
  CHECK_THAT(error_of(R"({"type":"leave"})"), contains("reason"));
  CHECK_THAT(error_of(R"({"type":7})"), contains("malformed message"));
  CHECK_THAT(error_of("[]"), contains("malformed message"));
  CHECK_THAT(error_of(""), contains("malformed message"));
}

// The first message of each kind that a node may send, with every field that it can have.
std::vector<AgentMessage> messages_of_agents() {
  return {Join{.run_id = "job", .node = "n1", .host = "h1"},
          Beat{},
          WhoIsThere{},
          WorkerFailed{3, kFailure},
          WorkersFinished{3},
          WorkersStopped{4},
          Preempt{"SIGUSR1", 60'000},
          Leave{"SIGTERM"}};
}

std::vector<CoordinatorMessage> messages_of_the_coordinator() {
  return {Joined{5000},
          Refused{"no"},
          Waiting{1, 2, 3, 4},
          Spare{2, 3},
          Introduction{"another job", 4711, "h1"},
          Beat{},
          StartRound{.round = 2, .master_addr = "10.0.0.1", .master_port = 29400},
          StopRound{2, "why", 9},
          EndJob{EndJob::Outcome::kFailed, 2, "", kFailure}};
}

// Every value inside `message`, an object in it, too.
std::vector<json::json_pointer> fields_of(const json& message, const json::json_pointer& at) {
  std::vector<json::json_pointer> fields;
  if (!message.is_object()) return fields;
  for (const auto& [name, value] : message.items()) {
    fields.push_back(at / name);
    for (const auto& inner : fields_of(value, at / name)) fields.push_back(inner);
  }
  return fields;
}

json without(json message, const json::json_pointer& field) {
  message[field.parent_pointer()].erase(field.back());
  return message;
}

json with(json message, const json::json_pointer& field, const json& value) {
  message[field] = value;
  return message;
}

// A line may lack these fields, or these have names as values, of which an unknown one is passed.
bool is_optional(const json::json_pointer& field) { return field.to_string() == "/failure"; }
bool is_named(const json::json_pointer& field) {
  return field.back() == "store" || field.back() == "outcome";
}

template <typename Messages, typename Decode>
void check_fields(const Messages& messages, Decode&& decode) {
  for (const auto& message : messages) {
    const json good = json::parse(encode(message));
    REQUIRE(decode(good.dump()).has_value());
    for (const auto& field : fields_of(good, json::json_pointer{})) {
      INFO(good.dump() << " changed at " << field.to_string());
      const bool optional = is_optional(field) && good["type"] == "end_job";
      CHECK(decode(without(good, field).dump()).has_value() == optional);
      if (is_named(field)) continue;
      const auto wrong = decode(with(good, field, json::object()).dump());
      REQUIRE(wrong.has_error());
      CHECK(wrong.error().kind == Error::Kind::kInvalid);
    }
  }
}

TEST_CASE("a message that lacks a field, or has one of another type, is an error") {
  SECTION("from an agent") {
    const auto messages = messages_of_agents();
    REQUIRE(messages.size() == std::variant_size_v<AgentMessage>);
    check_fields(messages, [](const std::string& line) { return decode_agent_message(line); });
  }
  SECTION("from the coordinator") {
    const auto messages = messages_of_the_coordinator();
    REQUIRE(messages.size() == std::variant_size_v<CoordinatorMessage>);
    check_fields(messages,
                 [](const std::string& line) { return decode_coordinator_message(line); });
  }
}

TEST_CASE("fields that nobody knows are passed over") {
  CHECK(decode_agent_message(R"({"type":"workers_stopped","round":4,"mood":"good"})").value() ==
        AgentMessage{WorkersStopped{4}});
}

TEST_CASE("what a node says of itself is held to its limits") {
  const Join good{.run_id = "job", .node = "n", .workers = 1};
  const auto decoded = [](const Join& join) {
    return decode_agent_message(encode(AgentMessage{join})).has_value();
  };
  const auto changed = [&](auto&& change) {
    Join join = good;
    change(join);
    return decoded(join);
  };
  REQUIRE(decoded(good));
  CHECK(changed([](Join& j) { j.workers = kWorkersPerNodeMax; }));
  CHECK_FALSE(changed([](Join& j) { j.workers = kWorkersPerNodeMax + 1; }));
  CHECK_FALSE(changed([](Join& j) { j.workers = 0; }));
  CHECK(changed([](Join& j) { j.run_id = std::string(kRunIdBytesMax, 'x'); }));
  CHECK_FALSE(changed([](Join& j) { j.run_id = std::string(kRunIdBytesMax + 1, 'x'); }));
  CHECK(changed([](Join& j) { j.run_id = ""; }));
  CHECK(changed([](Join& j) { j.node = std::string(kNodeIdBytesMax, 'x'); }));
  CHECK_FALSE(changed([](Join& j) { j.node = std::string(kNodeIdBytesMax + 1, 'x'); }));
  CHECK_FALSE(changed([](Join& j) { j.node = ""; }));
}

TEST_CASE("the terms of a job are held to their limits") {
  const auto acceptable = [](auto&& change) {
    Join join{.node = "n", .terms = {.nodes_min = 2, .nodes_max = 2}};
    change(join.terms);
    return decode_agent_message(encode(AgentMessage{join})).has_value();
  };
  CHECK(acceptable([](JobTerms&) {}));
  CHECK(acceptable([](JobTerms& t) { t.nodes_min = 1; }));
  CHECK_FALSE(acceptable([](JobTerms& t) { t.nodes_min = 0; }));
  CHECK_FALSE(acceptable([](JobTerms& t) { t.nodes_min = 3; }));
  CHECK_FALSE(acceptable([](JobTerms& t) { t.nodes_max = 1; }));
  CHECK(acceptable([](JobTerms& t) { t.restarts_max = 0; }));
  CHECK_FALSE(acceptable([](JobTerms& t) { t.restarts_max = -1; }));
  for (std::int64_t JobTerms::*timeout :
       {&JobTerms::last_call_timeout_ms, &JobTerms::join_timeout_ms,
        &JobTerms::heartbeat_timeout_ms}) {
    const bool may_be_zero = timeout != &JobTerms::heartbeat_timeout_ms;
    CHECK(acceptable([&](JobTerms& t) { t.*timeout = 0; }) == may_be_zero);
    CHECK(acceptable([&](JobTerms& t) { t.*timeout = 1; }));
    CHECK_FALSE(acceptable([&](JobTerms& t) { t.*timeout = -1; }));
    CHECK(acceptable([&](JobTerms& t) { t.*timeout = kTimeoutMsMax; }));
    CHECK_FALSE(acceptable([&](JobTerms& t) { t.*timeout = kTimeoutMsMax + 1; }));
  }
}

TEST_CASE("a checkpoint before the announced end may take from 1 ms to ten years") {
  const auto acceptable = [](std::int64_t checkpoint_ms) {
    return decode_agent_message(encode(AgentMessage{Preempt{"why", checkpoint_ms}})).has_value();
  };
  CHECK(acceptable(1));
  CHECK_FALSE(acceptable(0));
  CHECK(acceptable(kTimeoutMsMax));
  CHECK_FALSE(acceptable(kTimeoutMsMax + 1));
}

TEST_CASE("a node that breaks a limit is told which") {
  CHECK_THAT(error_of(encode(AgentMessage{Join{.node = "n", .workers = 0}})),
             contains("a node has 1 to 65536 workers, not 0"));
  CHECK_THAT(error_of(encode(AgentMessage{Join{.node = ""}})),
             contains("a node id has 1 to 64 bytes"));
  CHECK_THAT(error_of(encode(AgentMessage{Join{.run_id = std::string(1025, 'x'), .node = "n"}})),
             contains("a run id has at most 1024 bytes"));
  CHECK_THAT(error_of(encode(AgentMessage{Preempt{"why", 0}})),
             contains("from 1 ms to ten years, not 0 ms"));
  CHECK_THAT(error_of(encode(AgentMessage{Join{.node = "n", .terms = {.nodes_min = 0}}})),
             contains("the terms of the job make no sense"));
}

}  // namespace
}  // namespace ddprun
