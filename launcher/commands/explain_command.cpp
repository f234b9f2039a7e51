#include "launcher/commands/explain_command.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "agent/output/console.hpp"
#include "agent/reports/report_text.hpp"
#include "base/log.hpp"
#include "base/system/silence_note.hpp"
#include "launcher/options/command_options.hpp"

namespace ddprun {

namespace {

/// A report has some 100 KiB at most.
constexpr std::size_t kReportBytesMax = 4 * 1024 * 1024;

int explain(const std::string& path, Console& out) {
  const SilenceNote note{path};
  std::ifstream file{path, std::ios::binary};
  std::string text(kReportBytesMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || (text.empty() && !file.eof())) {
    log::error("cannot read '{}': {}", path, std::strerror(errno));
    return 1;
  }
  const auto report = parse_report(text);
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
