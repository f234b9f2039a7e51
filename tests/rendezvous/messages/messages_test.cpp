#include "rendezvous/messages/messages.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "tests/rendezvous/messages/message_examples.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using nlohmann::json;

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
  return decode_coordinator_message(encode(CoordinatorMessage{message})).value();
}

std::string error_of(std::string_view line) {
  const auto decoded = decode_agent_message(line);
  REQUIRE(decoded.has_error());
  return decoded.error().message;
}

TEST_CASE("every message of an agent arrives as it was sent") {
  const Join join{.run_id = "job",
                  .node = "n1",
                  .incarnation = 3,
                  .counters = {7, 2},
                  .host = "h1",
                  .workers = 4,
                  .node_rank = 2,
                  .terms = {.restarts_max = 2, .store = StoreAt::kLocal}};
  CHECK(through_the_wire(join) == AgentMessage{join});
  const WorkerFailed failed{3, kFailure, kWorkerEnd, 2.5, 3};
  CHECK(through_the_wire(failed) == AgentMessage{failed});
  CHECK(through_the_wire(WorkersFinished{3}) == AgentMessage{WorkersFinished{3}});
  CHECK(through_the_wire(WorkersStopped{4}) == AgentMessage{WorkersStopped{4}});
  const WorkersEnded ended{3, 120, {kWorkerEnd, kWorkerEnd}};
  CHECK(through_the_wire(ended) == AgentMessage{ended});
  CHECK(through_the_wire(Beat{1'000, 999}) == AgentMessage{Beat{1'000, 999}});
  CHECK(through_the_wire(Leave{"SIGTERM"}) == AgentMessage{Leave{"SIGTERM"}});
  CHECK(through_the_wire(Identify{"a"}) == AgentMessage{Identify{"a"}});
  CHECK(through_the_wire(Preempt{"why", 9}) == AgentMessage{Preempt{"why", 9}});
  const Progress progress{2, {kProgress, RankProgress{.rank = 4}}};
  CHECK(through_the_wire(progress) == AgentMessage{progress});
  CHECK(through_the_wire(WorkersStarted{2}) == AgentMessage{WorkersStarted{2}});
  const Inspected inspected{3, kStackGroup, true};
  CHECK(through_the_wire(inspected) == AgentMessage{inspected});
  CHECK(through_the_wire(AskStatus{7}) == AgentMessage{AskStatus{7}});
  CHECK(through_the_wire(Vote{3, 17}) == AgentMessage{Vote{3, 17}});
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
  const Joined joined{5000};
  CHECK(back_through_the_wire(joined) == CoordinatorMessage{joined});
  const Inspect inspect{2, 7, true, "3-7,9"};
  CHECK(back_through_the_wire(inspect) == CoordinatorMessage{inspect});
  const HangFound hang{2,
                       {.kind = HangReport::Kind::kDeadlock,
                        .sentence = "all wait",
                        .operation = "gloo:all_reduce",
                        .group = "0",
                        .sequence = 12,
                        .missing_ranks = "1",
                        .waiting_ranks = "0,2",
                        .silent_ms = 3000,
                        .stacks = {kStackGroup, kStackGroup}}};
  CHECK(back_through_the_wire(hang) == CoordinatorMessage{hang});
  const VerdictFound found{{kCause, {kCause}, {kFollowers, kFollowers}, "failed 2 times"}};
  CHECK(back_through_the_wire(found) == CoordinatorMessage{found});
  CHECK(back_through_the_wire(HangOver{2, 9}) == CoordinatorMessage{HangOver{2, 9}});
  const RestartTimes restart{4, 3, "node h2 lost", 4, 31.5, 0.25, 9, -1};
  CHECK(back_through_the_wire(Restarted{restart}) == CoordinatorMessage{Restarted{restart}});
  const JobTimes times{{restart, restart}, {100, 97.5, 1, 2, 12, 1.5}};
  CHECK(back_through_the_wire(times) == CoordinatorMessage{times});
  const StatusPart part{7, R"({"run_id":"job"})", true};
  CHECK(back_through_the_wire(part) == CoordinatorMessage{part});
  CHECK(back_through_the_wire(Refused{"no"}) == CoordinatorMessage{Refused{"no"}});
  CHECK(back_through_the_wire(Refused{"no", true}) == CoordinatorMessage{Refused{"no", true}});
  const Identity introduction{"the same job", 4711, "h1", 3, "h2:29400"};
  CHECK(back_through_the_wire(introduction) == CoordinatorMessage{introduction});
  CHECK(back_through_the_wire(Waiting{1, 2, 3, 4}) == CoordinatorMessage{Waiting{1, 2, 3, 4}});
  CHECK(back_through_the_wire(Spare{2, 3, 1}) == CoordinatorMessage{Spare{2, 3, 1}});
  CHECK(back_through_the_wire(start) == CoordinatorMessage{start});
  CHECK(back_through_the_wire(StopRound{2, "why"}) == CoordinatorMessage{StopRound{2, "why"}});
  CHECK(back_through_the_wire(StopRound{2, "why", 9, 1}) ==
        CoordinatorMessage{StopRound{2, "why", 9, 1}});
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

// A line may lack this field.
bool is_optional(const json& message, const json::json_pointer& field) {
  const std::string path = field.to_string();
  if (path == "/failure") return message["type"] == "end_job";
  static const std::set<std::string> kNames{"awaits_step", "lost_steps", "changes", "checkpoints",
                                            "checkpoint",  "sources",    "older"};
  static const std::set<std::string> kPaths{"/spare_votes", "/load", "/sample", "/end/failure"};
  const bool is_time = path.starts_with("/times/") && path.ends_with("_ms");
  return is_time || kPaths.contains(path) || kNames.contains(field.back());
}

// Values that do not fit the field, which is called `name` and has `good` in a message that does.
std::vector<json> misfits(const std::string& name, const json& good) {
  std::vector<json> out{json::array({1}), json::object(), nullptr};
  if (!good.is_number_float()) out.insert(out.end(), {2.5, 18446744073709551615U});
  if (!good.is_boolean()) out.push_back(true);
  static const std::set<std::string> kChoices{"store", "outcome", "type",
                                              "kind",  "on_hang", "what"};
  if (!good.is_string() || kChoices.contains(name)) out.push_back("no such name");
  return out;
}

template <typename Messages, typename Decode>
void check_fields(const Messages& messages, Decode&& decode) {
  for (const auto& message : messages) {
    const json good = json::parse(encode(message));
    REQUIRE(decode(good.dump()).has_value());
    for (const auto& field : fields_of(good, json::json_pointer{})) {
      INFO(good.dump() << " changed at " << field.to_string());
      CHECK(decode(without(good, field).dump()).has_value() == is_optional(good, field));
      // Only that of the message itself is one of a few names.
      const bool is_text = field.back() == "type" && field.to_string() != "/type";
      for (const json& misfit : misfits(is_text ? "a text" : field.back(), good[field])) {
        INFO("to " << misfit.dump());
        const auto wrong = decode(with(good, field, misfit).dump());
        REQUIRE(wrong.has_error());
        CHECK(wrong.error().kind == Error::Kind::kInvalid);
      }
    }
  }
}

TEST_CASE("a message that lacks a field, or has one of another type, is an error") {
  SECTION("from an agent") {
    const auto messages = messages_of_agents();
    REQUIRE(messages.size() == std::variant_size_v<AgentMessage>);
    check_fields(messages, decode_agent_message);
  }
  SECTION("from the coordinator") {
    const auto messages = messages_of_the_coordinator();
    REQUIRE(messages.size() == std::variant_size_v<CoordinatorMessage>);
    check_fields(messages, decode_coordinator_message);
  }
}

TEST_CASE("what is in a list is checked as everything else") {
  json progress = json::parse(encode(AgentMessage{Progress{2, {kProgress}}}));
  progress["ranks"][0].erase("rank");
  CHECK(error_of(progress.dump()) == "malformed message: 'rank' is missing in 'ranks'");
  progress["ranks"][0]["rank"] = "three";
  CHECK_THAT(error_of(progress.dump()), contains("'rank' is \"three\""));
}

TEST_CASE("a number that does not fit is refused, and not cut down to one that does") {
  json join = json::parse(encode(AgentMessage{Join{.node = "n"}}));
  join["workers"] = 4294967298;  // 2 in 32 bits
  CHECK(error_of(join.dump()) ==
        "malformed message: 'workers' is 4294967298, and a whole number from -2147483648 to "
        "2147483647 was expected");
  join["workers"] = 2.5;
  CHECK_THAT(error_of(join.dump()), contains("'workers' is 2.5"));
  join["workers"] = -2147483649;
  CHECK_THAT(error_of(join.dump()), contains("'workers' is -2147483649"));
  join["workers"] = 2147483647;
  CHECK_THAT(error_of(join.dump()), contains("1 to 65536 was expected"));
}

TEST_CASE("a name that is not known is refused, and not taken for another one") {
  json join = json::parse(encode(AgentMessage{Join{.node = "n"}}));
  join["terms"]["store"] = "cloud";
  CHECK(error_of(join.dump()) ==
        "malformed message: 'store' is \"cloud\", and leader or local was expected");
}

TEST_CASE("an agent of another version gets an error, whatever else it says") {
  CHECK(error_of(R"({"type":"join","protocol":2,"run_id":"job","node":"n","host":"h1"})") ==
        "this job speaks protocol version 1, the agent on h1 version 2: use the same ddprun on all "
        "nodes");
  CHECK_THAT(error_of(R"({"type":"join","protocol":"new"})"), contains("version \"new\""));
}

TEST_CASE("fields that nobody knows are passed over") {
  CHECK(decode_agent_message(R"({"type":"workers_started","round":4,"mood":"good"})").value() ==
        AgentMessage{WorkersStarted{4}});
}

// --- no message is longer than what the other side accepts ---

// A failure that has `bytes` bytes, all of them `byte`, in every text, and as many lines.
WorkerFailure long_winded(char byte, std::size_t bytes) {
  const std::string text(bytes, byte);
  WorkerFailure failure = kFailure;
  for (std::string WorkerFailure::*member :
       {&WorkerFailure::host, &WorkerFailure::evidence, &WorkerFailure::message,
        &WorkerFailure::traceback, &WorkerFailure::error_file, &WorkerFailure::last_heartbeat})
    failure.*member = text;
  failure.last_lines = std::vector<std::string>(100, text);
  return failure;
}

TEST_CASE("whatever a worker has recorded, its failure arrives") {
  for (const char byte : {'x', '\0', '\n', '"', '\xff'}) {
    INFO("all bytes are " << static_cast<int>(byte));
    const WorkerFailure failure = long_winded(byte, 300'000);
    const std::string report = encode(AgentMessage{WorkerFailed{1, failure}});
    CHECK(report.size() <= kLineBytesMax);
    CHECK(decode_agent_message(report).has_value());
    const EndJob end{EndJob::Outcome::kFailed, 0, std::string(300'000, byte), failure};
    const std::string verdict = encode(CoordinatorMessage{end});
    CHECK(verdict.size() <= kLineBytesMax);
    CHECK(decode_coordinator_message(verdict).has_value());
  }
}

TEST_CASE("the beginning of a long exception is kept, and the end of a long traceback") {
  WorkerFailure failure = kFailure;
  failure.message = "ValueError: " + std::string(300'000, 'x');
  failure.traceback = std::string(300'000, 'x') + "in the last line";
  failure.last_lines.assign(50, "an earlier line");
  failure.last_lines.push_back("the last line");
  const auto told = std::get<WorkerFailed>(through_the_wire(WorkerFailed{1, failure})).failure;
  CHECK(told.message.starts_with("ValueError: xxx"));
  CHECK(told.message.size() <= 16 * 1024);
  CHECK(told.message.size() > 16 * 1024 - 8);
  CHECK(told.traceback.ends_with("in the last line"));
  CHECK(told.traceback.size() > 16 * 1024 - 8);
  CHECK(told.last_lines.size() == 20);
  CHECK(told.last_lines.back() == "the last line");
}

TEST_CASE("a name that is too long is refused, and not cut to another name") {
  for (std::string Join::*name : {&Join::run_id, &Join::node, &Join::host, &Join::role}) {
    Join join{.run_id = "job", .node = "n"};
    for (const std::string letter : {"x", "é", "…", "🙂"}) {
      (join.*name).clear();
      while ((join.*name).size() < 5'000) join.*name += letter;
      CHECK(decode_agent_message(encode(AgentMessage{join})).has_error());
    }
  }
}

}  // namespace
}  // namespace ddprun
