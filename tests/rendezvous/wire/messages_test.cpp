#include "rendezvous/wire/messages.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

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

TEST_CASE("a node with an impossible number of workers or no id is refused") {
  const Join nobody{.node = "n", .workers = 0};
  const Join crowd{.node = "n", .workers = kWorkersPerNodeMax + 1};
  const Join anonymous{.node = "", .workers = 1};
  CHECK_THAT(error_of(encode(AgentMessage{nobody})), contains("workers, not 0"));
  CHECK_THAT(error_of(encode(AgentMessage{crowd})), contains("65537"));
  CHECK_THAT(error_of(encode(AgentMessage{anonymous})), contains("node id"));
}

}  // namespace
}  // namespace ddprun
