#include "launcher/commands/explain_command.hpp"

#include "agent/output/console.hpp"
#include "agent/reports/report_text.hpp"
#include "base/log.hpp"
#include "base/system/silence_note.hpp"
#include "base/system/whole_file.hpp"
#include "launcher/options/command_options.hpp"

namespace ddprun {

namespace {

/// A report has some 100 KiB at most.
constexpr std::size_t kReportBytesMax = 4 * 1024 * 1024;

int explain(const std::string& path, Console& out) {
  const SilenceNote note{path};
  const auto text = read_text(path, kReportBytesMax, ReadFrom::kPipesToo);
  if (!text) {
    log::error("cannot read '{}': {}", path, text.error().message);
    return 1;
  }
  const auto report = parse_report(*text);
  if (!report) {
    log::error("'{}' is no report of a job ({}): is it a file of --report-file?", path,
               report.error().message);
    return 1;
  }
  out.write(explain_text(*report));
  return 0;
}

}  // namespace

Result<int> run_explain(const std::vector<std::string>& words, const Stage& stage) {
  std::string file;
  CommandOptions command{
      "Prints what a report says: why a job failed or hangs, and what to do about it. "
      "--report-file writes the report; with --log-dir, each run's folder has one, too.",
      "ddprun explain"};
  command.argument("FILE", file, "what --report-file has written", {.required = true});
  command.examples("ddprun explain report.json");
  if (const auto done = command.parse(words, stage.out)) return *done;
  return explain(file, stage.out);
}

}  // namespace ddprun
