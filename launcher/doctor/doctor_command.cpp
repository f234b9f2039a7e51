#include "launcher/doctor/doctor_command.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "agent/output/console.hpp"
#include "base/system/own_process.hpp"
#include "launcher/doctor/checks.hpp"
#include "launcher/doctor/doctor_report.hpp"
#include "launcher/doctor/gather.hpp"
#include "launcher/run/parse_words.hpp"
#include "launcher/run/terminal.hpp"
#include "launcher/settings/this_machine.hpp"

namespace ddprun {

namespace {

struct DoctorOptions {
  DoctorWish wish;
  bool json = false;
  bool verbose = false;
};

int examine_this_node(const DoctorOptions& options, const Stage& stage) {
  const NodeReading reading = read_this_node(options.wish, this_machine(own_variable));
  const Findings findings = check_node(reading, true);
  const ReportStyle style{.color = wants_color(STDOUT_FILENO),
                          .verbose = options.verbose,
                          .columns = std::min(terminal_columns(STDOUT_FILENO, 80), 120)};
  stage.out.write(options.json ? report_json({reading}, findings)
                               : report_text({reading.node}, findings, style));
  return count_of(findings, Severity::kFailed) > 0 ? 1 : 0;
}

}  // namespace

Result<int> run_doctor(const std::vector<std::string>& words, const Stage& stage) {
  DoctorOptions options;
  CLI::App app{
      "Says what is wrong with this node, before a job fails because of it: Python and torch, GPUs "
      "and their driver, memory, disks, limits, names and the network. Exit code: 0, or 1 when a "
      "check has failed.",
      "ddprun doctor"};
  app.add_option("SCRIPT", options.wish.script, "a script, whose imports are looked for, too");
  app.add_option("--log-dir", options.wish.log_dir, "the folder that the job writes its logs to")
      ->type_name("DIR");
  app.add_option("--checkpoint-dir", options.wish.checkpoint_dir,
                 "the folder that the job writes its checkpoints to")
      ->type_name("DIR");
  app.add_flag("-v,--verbose", options.verbose, "show also what is well");
  app.add_flag("--json", options.json, "print all findings, and what was read, as JSON");
  app.footer("ddprun doctor\nddprun doctor --checkpoint-dir /shared/run7 train.py");
  if (const auto done = parse_words(app, words, stage)) return *done;
  return examine_this_node(options, stage);
}

}  // namespace ddprun
