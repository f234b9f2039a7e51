#include "rendezvous/messages/job_dump.hpp"

#include "base/json/json_fields.hpp"
#include "rendezvous/messages/hang_fields.hpp"

namespace ddprun {

namespace fields {

constexpr TextLimit kDumpRanks{16 * 1024};
constexpr TextLimit kDumpName{256};
constexpr TextLimit kDumpReason{512};

// clang-format off
template <> inline constexpr auto kFields<DumpWait> = table(
    text<&DumpWait::operation>("operation", kDumpName),
    text<&DumpWait::group>("group", kDumpName),
    field<&DumpWait::sequence>("sequence"),
    text<&DumpWait::waiting_ranks>("waiting_ranks", kDumpRanks),
    text<&DumpWait::missing_ranks>("missing_ranks", kDumpRanks));
template <> inline constexpr auto kFields<DumpUnheard> = table(
    text<&DumpUnheard::node>("node", kDumpName),
    text<&DumpUnheard::ranks>("ranks", kDumpRanks),
    text<&DumpUnheard::reason>("reason", kDumpReason));
template <> inline constexpr auto kFields<JobDump> = table(
    text<&JobDump::state>("state", kDumpName), text<&JobDump::why>("why", kDumpReason),
    field<&JobDump::round>("round"), field<&JobDump::attempt>("attempt"),
    field<&JobDump::world_size>("world_size"), field<&JobDump::nodes>("nodes"),
    field<&JobDump::took_ms>("took_ms"), field<&JobDump::hang>("hang"),
    list<&JobDump::waits>("waits", kDumpWaitsMax),
    list<&JobDump::stacks>("stacks", kDumpStacksMax),
    field<&JobDump::stacks_left_out>("stacks_left_out"),
    list<&JobDump::unheard>("unheard", kDumpUnheardMax));
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
  std::string text = fields::to_text(less, JsonStyle::kAscii);
  while (text.size() > kDumpBytesMax && !(less.stacks.empty() && less.waits.empty())) {
    if (less.stacks.empty()) less.waits.resize(less.waits.size() / 2);
    leave_out_stacks(less, less.stacks.size() / 2);
    text = fields::to_text(less, JsonStyle::kAscii);
  }
  return text;
}

Result<JobDump> parse_job_dump(std::string_view json) try {
  if (json.size() > kDumpBytesMax) return invalid("a dump is too long");
  return fields::from_text<JobDump>(json, "dump");
} catch (const fields::Unfit& unfit) {
  return invalid(std::string{"malformed dump: "} + unfit.what());
}

}  // namespace ddprun
