#include "rendezvous/messages/job_dump.hpp"

#include <nlohmann/json.hpp>
#include <tuple>

#include "rendezvous/messages/hang_fields.hpp"
#include "rendezvous/messages/json_fields.hpp"

namespace ddprun {

namespace fields {

constexpr TextLimit kDumpRanks{16 * 1024};
constexpr TextLimit kDumpName{256};
constexpr TextLimit kDumpReason{512};

// clang-format off
template <> inline constexpr auto kFields<DumpWait> = std::tuple{
    text("operation", &DumpWait::operation, kDumpName),
    text("group", &DumpWait::group, kDumpName),
    field("sequence", &DumpWait::sequence),
    text("waiting_ranks", &DumpWait::waiting_ranks, kDumpRanks),
    text("missing_ranks", &DumpWait::missing_ranks, kDumpRanks)};
template <> inline constexpr auto kFields<DumpUnheard> = std::tuple{
    text("node", &DumpUnheard::node, kDumpName),
    text("ranks", &DumpUnheard::ranks, kDumpRanks),
    text("reason", &DumpUnheard::reason, kDumpReason)};
template <> inline constexpr auto kFields<JobDump> = std::tuple{
    text("state", &JobDump::state, kDumpName), text("why", &JobDump::why, kDumpReason),
    field("round", &JobDump::round), field("attempt", &JobDump::attempt),
    field("world_size", &JobDump::world_size), field("nodes", &JobDump::nodes),
    field("took_ms", &JobDump::took_ms), field("hang", &JobDump::hang),
    list("waits", &JobDump::waits, kDumpWaitsMax),
    list("stacks", &JobDump::stacks, kDumpStacksMax),
    field("stacks_left_out", &JobDump::stacks_left_out),
    list("unheard", &JobDump::unheard, kDumpUnheardMax)};
// clang-format on

}  // namespace fields

namespace {

void leave_out_stacks(JobDump& dump, std::size_t stacks_max) {
  if (dump.stacks.size() <= stacks_max) return;
  dump.stacks_left_out += static_cast<int>(dump.stacks.size() - stacks_max);
  dump.stacks.resize(stacks_max);
}

}  // namespace

std::string to_json(const JobDump& dump) {
  JobDump less = dump;
  leave_out_stacks(less, kDumpStacksMax);
  std::string text = fields::ascii_line(fields::to_object(less));
  while (text.size() > kDumpBytesMax && !(less.stacks.empty() && less.waits.empty())) {
    if (less.stacks.empty()) less.waits.resize(less.waits.size() / 2);
    leave_out_stacks(less, less.stacks.size() / 2);
    text = fields::ascii_line(fields::to_object(less));
  }
  return text;
}

Result<JobDump> parse_job_dump(std::string_view json) try {
  if (json.size() > kDumpBytesMax) return invalid("a dump is too long");
  return fields::from_object<JobDump>(nlohmann::json::parse(json), "dump");
} catch (const std::exception& e) {  // from the parser, or Unfit
  return invalid(std::string{"malformed dump: "} + e.what());
}

}  // namespace ddprun
