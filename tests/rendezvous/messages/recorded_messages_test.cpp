// What releases have said on the wire: docs/internals/messages.md, "Between releases".
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "rendezvous/messages/messages.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using nlohmann::json;

/// Reads a line as an agent ('>') or the coordinator ('<') has said it, and returns what this build
/// says in the same place.
json said_again(char speaker, const std::string& line) {
  if (speaker == '>') {
    const auto message = decode_agent_message(line);
    REQUIRE(message.has_value());
    return json::parse(encode(*message));
  }
  const auto message = decode_coordinator_message(line);
  REQUIRE(message.has_value());
  return json::parse(encode(*message));
}

TEST_CASE("what releases of this protocol have said is read, and nothing of it is left unsaid") {
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator{DDPRUN_RECORDED_MESSAGES}) {
    ++files;
    std::set<std::string> types;
    std::ifstream lines{file.path()};
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      REQUIRE(line.size() > 2);
      const json recorded = json::parse(line.substr(2)).flatten();
      types.insert(line[0] + recorded.at("/type").get<std::string>());
      const json said = said_again(line[0], line.substr(2)).flatten();
      for (const auto& [field, value] : recorded.items()) {
        INFO(field);
        REQUIRE(said.contains(field));
        CHECK(said.at(field) == value);
      }
    }
    CHECK(types.size() >= 40);  // as many has version 1
  }
  CHECK(files >= 1);
}

/// One of each kind, as far as `Variant` has kinds. What is not filled in says its defaults.
template <typename Variant, std::size_t kIndex = 0>
void write_kinds(std::ostream& out, char speaker, const std::vector<Variant>& filled) {
  if constexpr (kIndex < std::variant_size_v<Variant>) {
    bool written = false;
    for (const Variant& message : filled)
      if (message.index() == kIndex) {
        out << speaker << ' ' << encode(message);
        written = true;
      }
    using Kind = std::variant_alternative_t<kIndex, Variant>;
    if (!written) out << speaker << ' ' << encode(Variant{Kind{}});
    write_kinds<Variant, kIndex + 1>(out, speaker, filled);
  }
}

/// Writes the file of a release: `rendezvous_tests "a release records what it says"`.
TEST_CASE("a release records what it says", "[.]") {
  const WorkerFailure failure{.host = "h1",
                              .group_rank = 1,
                              .rank = 5,
                              .local_rank = 1,
                              .pid = 4711,
                              .status = {.signal = 11, .core_dumped = true},
                              .time_unix_ms = 1'700'000'000'123,
                              .message = "ValueError: x",
                              .traceback = "Traceback",
                              .error_file = "/tmp/error.json",
                              .last_heartbeat = "step 120, 0.4 s before",
                              .last_lines = {"one", "two"}};
  const WorkerEnd end{
      .ranks = "5", .kind = FailureKind::kSignal, .blame = Blame::kOwn, .status = failure.status};
  const DebuggedRank debugged{1, true, "train.py:31", "breakpoint()"};
  const Join join{
      .run_id = "job",
      .node = "5f0c61a2",
      .incarnation = 3,
      .counters = {7, 2},
      .host = "h1",
      .workers = 4,
      .role = "trainer",
      .node_rank = 2,
      .terms = {.nodes_min = 2, .nodes_max = 4, .restarts_max = 3, .store = StoreAt::kLocal},
      .voter = {.epoch = 2, .promised = 3, .proposed = {{2, 7, 1}, 3, true, 1, "0-2"}}};
  const StartRound start{.round = 3,
                         .attempt = 1,
                         .group_rank = 1,
                         .group_world_size = 2,
                         .first_rank = 4,
                         .world_size = 8,
                         .first_role_rank = 4,
                         .role_world_size = 8,
                         .master_addr = "10.0.0.1",
                         .master_port = 29400,
                         .epoch = 1,
                         .lease_ms = 5'000,
                         .successors = {{"h1:29400", 0}},
                         .vacant = "1"};
  std::ofstream file{DDPRUN_RECORDED_MESSAGES "/" + std::to_string(kProtocolVersion) + ".jsonl"};
  write_kinds<AgentMessage>(
      file, '>',
      {join, WorkerFailed{3, failure, end}, WorkersStopped{3, "0,2-3"}, Preempt{"SIGUSR1", 20'000},
       Progress{3, {{.rank = 1, .step = 7}}},
       WorkersEnded{3, 7, {{.ranks = "1", .status = {.code = 1}}}}, Debugging{3, {debugged}},
       InviteWitness{.run_id = "job", .coordinator = "h1:29400"}});
  write_kinds<CoordinatorMessage>(
      file, '<',
      {Joined{.heartbeat_timeout_ms = 5'000, .epoch = 1}, start, RanksDebugged{3, {debugged}},
       Prepare{{.round = 2, .nodes = 1}, start}, EndJob{EndJob::Outcome::kFailed, 3, "", failure},
       EndJob{EndJob::Outcome::kFinished, 0, "", {}},
       EndJob{EndJob::Outcome::kTooFewNodes, 0, "late", {}},
       EndJob{EndJob::Outcome::kPreempted, 0, "SIGTERM", {}}});
  REQUIRE(file.flush().good());
}

}  // namespace
}  // namespace ddprun
