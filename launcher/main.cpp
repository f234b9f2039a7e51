// ddprun reads the command line, runs the job, and exits with its code.

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <csignal>
#include <cstdio>
#include <exception>

#include "agent/output/console.hpp"
#include "base/log.hpp"
#include "base/match.hpp"
#include "base/system/own_process.hpp"
#include "launcher/commands/command_line.hpp"
#include "launcher/commands/subcommands.hpp"
#include "launcher/hosts/run_on_hosts.hpp"
#include "launcher/run/dry_run.hpp"
#include "launcher/run/exit_code.hpp"
#include "launcher/run/first_process.hpp"
#include "launcher/run/log.hpp"
#include "launcher/run/machine_facts.hpp"
#include "launcher/run/report_writer.hpp"
#include "launcher/run/run.hpp"
#include "launcher/run/run_report.hpp"
#include "launcher/settings/arguments.hpp"
#include "launcher/settings/this_machine.hpp"
#include "rendezvous/transport/secret.hpp"

namespace {

using namespace ddprun;

/// The job's secret where a variable has it, taken out of the environment.
const std::optional<std::string>& secret_variable() {
  static const std::optional<std::string> taken = take_variable(kSecretVariable);
  return taken;
}

std::optional<std::string> environment(const std::string& name) {
  if (name == kSecretVariable) return secret_variable();
  return own_variable(name);
}

/// `command` is the one whose help a user may need who has written something that is not valid.
int complain(const Error& error, const std::string& command = "ddprun") {
  const bool usage = error.kind == Error::Kind::kInvalid;
  log::error("{}{}", error.message, usage ? " (see " + command + " --help)" : "");
  return exit_code(error);
}

/// A program that is not there ends the job before it begins. Its report is due all the same.
int cannot_begin(const Error& error, const std::vector<std::string>& arguments) {
  const auto parsed = parse_arguments(arguments, environment);
  const std::string file = parsed ? parsed->settings["report-file"].text : "";
  if (!file.empty()) {
    ReportWriter reports;
    reports.add_file(file);
    reports.write_last(job_report(error, parsed->settings["rdzv-id"].text));
  }
  return complain(error);
}

int launch(const Launch& job, boost::asio::io_context& io, Console& out, Console& err) {
  // All nodes that a scheduler has started take the same: one says so.
  const bool others_say_it = !job.cluster.empty() && job.spec.meeting.node_rank > 0;
  const auto level = others_say_it ? log::Level::kInfo : log::Level::kWarning;
  for (const std::string& warning : job.warnings) log::write(level, warning);
  if (!job.cluster.empty()) log::write(level, job.cluster);
  if (job.dry_run) {
    const auto machine = machine_facts(job.spec, environment);
    if (!machine) return complain(machine.error());
    out.write(dry_run(job.spec, *machine, job.workers_of_nodes));
    return 0;
  }
  const auto code = run(io, job.spec, environment, out, err);
  return code ? *code : complain(code.error());
}

int launch(HostsJob&& job, boost::asio::io_context& io, Console& out, Console& err) {
  for (const std::string& warning : job.warnings) log::warn("{}", warning);
  if (job.dry_run) {
    out.write(dry_run(job));
    return 0;
  }
  const auto code = run_on_hosts(io, std::move(job), environment, {out, err});
  return code ? *code : complain(code.error());
}

int launch(StepStart&& step, boost::asio::io_context& io, Console& out, Console& err) {
  if (step.dry_run) {
    out.write(dry_run(step));
    return 0;
  }
  const auto code = run_step(io, step, environment, err);
  return code ? *code : complain(code.error());
}

int run_subcommand(const Subcommand& command, const std::vector<std::string>& words,
                   const CommandContext& context) {
  const auto code = command.run({words.begin() + 1, words.end()}, context);
  return code ? *code : complain(code.error(), "ddprun " + words.front());
}

int run_command_line(const std::string& program, const std::vector<std::string>& arguments,
                     boost::asio::io_context& io, Console& out, Console& err) {
  if (const Subcommand* command = find_subcommand(program, arguments))
    return run_subcommand(*command, arguments, {io, out, err});
  auto parsed = parse_command_line(arguments, this_machine(environment), program);
  if (!parsed) return cannot_begin(parsed.error(), arguments);
  return match(
      std::move(*parsed),
      [&](JustPrint&& print) {
        out.write(print.text);
        return 0;
      },
      [&](HostsJob&& job) { return launch(std::move(job), io, out, err); },
      [&](StepStart&& step) { return launch(std::move(step), io, out, err); },
      [&](const Launch& job) { return launch(job, io, out, err); });
}

}  // namespace

int main(int argc, char** argv) try {
  open_standard_files();          // before any other file
  secret_variable();              // before anybody copies the environment
  std::signal(SIGPIPE, SIG_IGN);  // write() then fails when a reader has gone away
  std::signal(SIGCHLD, SIG_DFL);  // ignored, the kernel forgets how children ended
  end_by_signals_as_others_do();
  boost::asio::io_context io{1};
  Console out{io.get_executor(), STDOUT_FILENO};
  Console err{io.get_executor(), STDERR_FILENO};
  set_up_log(err, environment("LOGLEVEL"));
  const int code = run_command_line(argv[0], {argv + 1, argv + argc}, io, out, err);
  out.flush_blocking();
  err.flush_blocking();
  return code;
} catch (const std::exception& e) {
  std::fprintf(stderr, "ddprun: internal error: %s\n", e.what());
  return ddprun::kInternalError;
}
