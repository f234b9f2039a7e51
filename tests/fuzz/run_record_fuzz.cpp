// Fuzzes the record of a good run, which anybody may have written who can write to the folder of
// logs, and what a report tells of it.
#include <string>
#include <string_view>

#include "agent/reports/report_text.hpp"
#include "launcher/record/hidden_secrets.hpp"
#include "launcher/record/program_facts.hpp"
#include "launcher/record/run_record.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace ddprun;

void tell_changes(const RunRecord& record) {
  RunRecord now{.script = record.script, .arguments = {"--lr", "0.1"}, .hosts = {"h1"}};
  now.script.sha256 = "0";
  now.workers = now.world_size = 2;
  JobReport report{.outcome = JobOutcome::kFailed};
  report.verdict.emplace().cause.sentence = "why";
  report.changed = since_good_run(record, now);
  require(report.changed->changes.size() <= kChangesMax);
  const auto again = parse_report(to_json(report));
  require(again.has_value() && to_json(*again) == to_json(report));
  for (const char c : report_text(report, Output::kShown))
    require(c == '\n' || static_cast<unsigned char>(c) >= ' ');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  without_secrets({text, text});
  python_version_in_name(text);
  python_version_of_venv(text);
  torch_version_in(text);
  driver_version_in(text);
  const auto record = parse_run_record(text);
  if (!record) return 0;
  const std::string written = to_json(*record);
  require(written.size() <= kRunRecordBytesMax);
  const auto again = parse_run_record(written);
  require(again.has_value() && to_json(*again) == written);
  tell_changes(*record);
  return 0;
}
