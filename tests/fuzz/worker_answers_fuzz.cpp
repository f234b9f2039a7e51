// Fuzzes what is read of the user's own workers when they are looked at: what torch's worker server
// answers, Python's stacks, what eu-stack and gdb write; and the dump that is made of it. The first
// byte chooses.
#include <algorithm>
#include <string>
#include <string_view>

#include "agent/introspection/flight_recorder.hpp"
#include "agent/introspection/native_stack.hpp"
#include "agent/introspection/python_stack.hpp"
#include "agent/introspection/worker_finding.hpp"
#include "agent/reports/hang_text.hpp"
#include "rendezvous/messages/job_status.hpp"
#include "rendezvous/messages/messages.hpp"
#include "rendezvous/watch/round_dump.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace ddprun;

bool gives_orders(std::string_view text) {
  return std::ranges::any_of(text,
                             [](unsigned char c) { return c < 0x20 && c != '\n' && c != '\t'; });
}

/// The report on a worker fits into messages, which are read as they were written, and into a dump.
void check_finding(const WorkerFinding& finding) {
  const std::vector<StackGroup> groups = fold({finding, {.rank = 1, .state = 'S'}});
  require(!groups.empty());
  ProgressTable table;
  table.begin_round(2, {});
  RoundDump dump;
  dump.begin(1, {{"n", {"host", 0, 2}}}, {});
  for (const StackGroup& group : groups) {
    const auto read = decode_agent_message(encode(AgentMessage{Inspected{1, group, false}}));
    require(read.has_value());
    dump.take("n", std::get<Inspected>(*read));
  }
  const JobDump done = dump.finish(table, {});
  require(done.unheard.empty());
  require(!gives_orders(dump_text(done, "job")));
  HangReport hang{.sentence = "s"};
  hang.stacks = done.stacks;
  require(hang_lines(hang).size() <= 25);
}

void check_stacks(WorkerFinding finding, const Frames& frames) {
  finding.frames = frames;
  if (!waits_for_work(frames) && waits_for_data_loader(frames))
    finding.data_loaders.push_back({7, 'S', frames});
  check_finding(finding);
}

void check_trace(std::string_view bytes) {
  GroupNames names;
  const auto groups = read_group_progress(bytes, names);
  if (groups) require(read_group_progress(bytes, names) == groups);
  WorkerFinding finding{.state = 'S', .has_server = true, .answers = true};
  finding.pending = read_pending(bytes);
  for (const GroupArrivals& group : read_arrivals(bytes))
    require(!group.group.empty() && group.pauses_us.size() < kGroupArrivalsMax);
  check_finding(finding);
}

/// What was read is written so that it is read as the same.
void check_dump(std::string_view bytes) {
  const auto dump = parse_job_dump(bytes);
  if (!dump) return;
  const std::string text = to_json(*dump);
  require(text.size() <= kDumpBytesMax && !gives_orders(text));
  const auto again = parse_job_dump(text);
  require(again.has_value() && to_json(*again) == text);
  require(!gives_orders(dump_text(*dump, "job")));
  require(dump_json(*dump, "job").ends_with("}\n"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  if (bytes.empty()) return 0;
  const std::string_view rest = bytes.substr(1);
  if (bytes[0] == 't') check_trace(rest);
  if (bytes[0] == 'c') check_finding({.has_server = true, .waits_in = read_store_wait(rest)});
  if (bytes[0] == 'p')
    check_stacks({.state = 'R', .has_server = true, .answers = true},
                 telling_thread(parse_python_stacks(rest)));
  if (bytes[0] == 'e') check_finding({.state = 'S', .native_stack = parse_native_stack(rest)});
  if (bytes[0] == 'g') check_finding({.state = 'S', .native_stack = parse_gdb_stack(rest)});
  if (bytes[0] == 'd') check_dump(rest);
  return 0;
}
