#include "launcher/commands/man_page.hpp"

#include <fmt/format.h>

#include <string_view>

#include "launcher/commands/subcommands.hpp"
#include "launcher/settings/options.hpp"

namespace ddprun {

namespace {

/// Escapes text for roff, so that no hyphen becomes a dash and no line a request.
std::string for_roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      out += "\\&", out += c;
    else
      out += c;
  }
  return out;
}

std::string option_entry(const Option& option) {
  std::string head = option.letter ? fmt::format("\\fB\\-{}\\fR, ", option.letter) : "";
  head += "\\fB" + for_roff(option.spelling()) + "\\fR";
  if (!option.is_flag()) head += " \\fI" + for_roff(option.value) + "\\fR";
  std::string text = for_roff(option.help);
  if (!option.choices.empty()) text += for_roff(fmt::format(". One of: {}", option.choices));
  if (!option.fallback.empty() && option.group != OptionGroup::kIgnored)
    text += for_roff(fmt::format(". Default: {}", option.fallback));
  if (!option.variable().empty()) text += ". Variable: \\fB" + for_roff(option.variable()) + "\\fR";
  if (!option.also.empty()) text += " or \\fB" + for_roff(option.also) + "\\fR";
  return ".TP\n" + head + "\n" + text + ".\n";
}

constexpr char kManPageHead[] = R"(.TH DDPRUN 1
.SH NAME
ddprun \- start, watch and restart the workers of a distributed training job
.SH SYNOPSIS
.B ddprun
[\fIOPTIONS\fR] \fISCRIPT\fR [\fIARGUMENTS\fR...]
.br
.B ddprun launch
[\fIOPTIONS\fR] \fISCRIPT\fR [\fIARGUMENTS\fR...]
.SH DESCRIPTION
.B ddprun
takes the command lines of PyTorch's
.BR torchrun .
It starts the workers of this node with torchrun's environment (RANK, LOCAL_RANK, WORLD_SIZE,
MASTER_ADDR, MASTER_PORT, ...), and serves the store through which they find each other. When a
worker fails, it stops all workers and starts them again, up to \fB\-\-max\-restarts\fR times.
.PP
A script is run by the Python of PYTHON_EXEC, else of the active virtual environment, else by
python3 or python of the PATH. \fB${local_rank}\fR in an argument becomes the worker's local rank.
.B ddprun launch
replaces torch.distributed.launch: it gives the script \fB\-\-local\-rank=N\fR, unless
\fB\-\-use\-env\fR is given.
.PP
If it is called
.B torchrun
or
.BR ddprun\-torchrun ,
for example by a link, it has none of the commands below: a script may then have such a name, as
with torchrun.
.PP
An option may be spelled with underscores, and may be cut short as long as it stays unique. If its
variable is set, its value is the default.
.SH OPTIONS
)";

constexpr char kTail[] = R"(.SH SIGNALS
A signal of \fB\-\-signals\-to\-handle\fR (by default SIGTERM, SIGINT, SIGHUP and SIGQUIT) stops
the job: it is passed on to every worker's process group, which then has
\fB\-\-shutdown\-timeout\fR seconds until SIGKILL. A second signal shortens this time to 3
seconds, and a third one kills the workers. A signal of \fB\-\-preempt\-signal\fR first asks the
workers for a checkpoint. SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGWINCH and those of the default
that \fB\-\-signals\-to\-handle\fR leaves out are only passed on to the workers. A signal that was
ignored when
.B ddprun
was started, for example by
.BR nohup (1),
stays ignored.
.SH FILES
\fIDIR\fR/\fIrun id\fR_\fIrandom\fR/attempt_\fIn\fR/\fIlocal rank\fR/ holds stdout.log, stderr.log
and error.json; filtered_stdout.log and filtered_stderr.log are beside the ranks. With
\fB\-\-log\-dir\fR, report.json is beside the attempts. Without \fB\-\-log\-dir\fR,
\fB\-\-redirects\fR and \fB\-\-tee\fR no file is left, except an error file that the report names.
.SH ENVIRONMENT
.TP
.B LOGLEVEL
DEBUG, INFO, WARNING (default) or ERROR: how much ddprun prints.
.TP
.B DDPRUN_SECRET
the job's secret, if there is no \fB\-\-secret\-file\fR; workers do not get it.
.TP
.B PYTHON_EXEC
the Python for scripts.
.TP
.B OMP_NUM_THREADS
if you do not set it, and there is more than one worker: usable CPUs / workers of this node.
.TP
.B TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE
what \fB\-\-tee\fR puts before a line; ${role_name}, ${rank} and ${local_rank} are replaced.
.TP
.B NO_COLOR
if it is set, there are no colors on a terminal.
.SH EXIT STATUS
.TP
.B 0
every worker exited 0.
.TP
.I N
the worker that was the cause of the failure exited with code N.
.TP
.RI 128+ S
that worker was killed by signal S, or ddprun was stopped by signal S.
.TP
.B 2
the command line is invalid.
.TP
.B 69
the coordinator cannot be reached, was lost, or refused this node; a host of \-\-hosts
cannot be reached.
.TP
.B 70
a bug in ddprun.
.TP
.B 71
the system refused something: a port, a directory, the event log.
.TP
.B 75
the join timeout passed with too few nodes.
.TP
.B 85
the scheduler announced the end, and workers had time for a checkpoint: run the job again.
.TP
.B 86
the workers hung, and \-\-on\-hang has ended the job.
.TP
.BR 126 ", " 127
the program cannot be executed; there is no such program.
.SH EXAMPLES
.nf
ddprun \-\-nproc\-per\-node 2 train.py \-\-epochs 10
ddprun \-\-nproc\-per\-node gpu \-\-max\-restarts 3 \-\-tee 3 \e
    \-\-log\-dir logs \-m my.training
ddprun \-\-nproc\-per\-node 2 \-\-no\-python ./train_digits
.fi
)";

}  // namespace

std::string man_page() {
  std::string page = kManPageHead;
  const OptionGroup* group = nullptr;
  for (const Option& option : options()) {
    if (group == nullptr || *group != option.group)
      page += ".SS " + for_roff(title(option.group)) + "\n";
    group = &option.group;
    page += option_entry(option);
  }
  page += ".SH COMMANDS\n";
  for (const Subcommand& command : subcommands()) {
    if (command.help.empty()) continue;
    page += fmt::format(".TP\n.B ddprun {}\n{}; see its \\-\\-help.\n", command.name,
                        for_roff(command.help));
  }
  return page + kTail;
}

namespace {

constexpr char kPageHead[] = R"(# Command line

<!-- Generated from the table of options. To change it, change the table, then: scripts/docs command-line -->

<!-- not run: the shape of a command line, not one that could be run -->
```text
ddprun [OPTIONS] SCRIPT [ARGUMENTS...]
ddprun launch [OPTIONS] SCRIPT [ARGUMENTS...]
ddprun COMMAND --help
```

Options come before the script. Everything behind the script belongs to the script.

- **Spelling.** `--nproc-per-node` and `--nproc_per_node` are the same option. An option may be cut
  short as long as only one option begins like that: `--nproc 2`. A value follows as the next word or
  behind `=`.
- **Defaults from the environment.** Most options have a variable, which is named behind them. The
  command line wins over the variable. A flag's variable is `1` for on and `0` for off.
- **`ddprun launch`** stands for `python -m torch.distributed.launch`: it gives the script the argument
  `--local-rank=N`, unless `--use-env` is there.

Options marked with \* are not torchrun's.
)";

/// "`-r`, `--redirects STREAMS`"
std::string spellings(const Option& option) {
  std::string text = option.letter ? fmt::format("`-{}`, ", option.letter) : "";
  text += "`" + option.spelling();
  if (!option.is_flag()) text += (option.takes_word() ? " " : "") + std::string{option.value};
  return text + "`" + (option.own ? " \\*" : "");
}

/// "a b c" → "`a`, `b`, `c`"
std::string code_list(std::string_view words) {
  std::string list = "`";
  for (const char c : words) list += c == ' ' ? std::string{"`, `"} : std::string{c};
  return list + "`";
}

/// Text as it is, outside `code`: what looks like HTML or emphasis in the table is none.
std::string for_markdown(std::string_view text) {
  std::string out;
  bool in_code = false;
  for (const char c : text) {
    if (c == '`') in_code = !in_code;
    if (!in_code && std::string_view{"<>_*"}.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// Lines of at most kColumns, as far as there are blanks to break at; all are indented.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kColumns = 100;
  constexpr std::string_view kIndent = "  ";
  std::string out;
  while (kIndent.size() + text.size() > kColumns) {
    const std::size_t blank = text.rfind(' ', kColumns - kIndent.size());
    if (blank == std::string_view::npos) break;
    out += fmt::format("{}{}\n", kIndent, text.substr(0, blank));
    text.remove_prefix(blank + 1);
  }
  return out + fmt::format("{}{}\n", kIndent, text);
}

/// The option in a line, and below it what it does.
std::string entry(const Option& option) {
  std::string text = for_markdown(option.help) + (option.help.ends_with("...") ? "" : ".");
  if (!option.choices.empty()) text += " One of " + code_list(option.choices) + ".";
  if (!option.fallback.empty() && option.group != OptionGroup::kIgnored)
    text += " Default: `" + std::string{option.fallback} + "`.";
  if (!option.variable().empty()) {
    text += " Variable: `" + option.variable() + "`";
    if (!option.also.empty()) text += " or `" + std::string{option.also} + "`";
    text += ".";
  }
  return "- " + spellings(option) + "<br>\n" + wrapped(text);
}

}  // namespace

std::string command_line_page() {
  std::string page = kPageHead;
  const OptionGroup* group = nullptr;
  for (const Option& option : options()) {
    if (group == nullptr || *group != option.group)
      page += fmt::format("\n## {}\n\n", title(option.group));
    group = &option.group;
    page += entry(option);
  }
  page += "\n## Commands\n\n`ddprun COMMAND --help` shows a command's options.\n\n";
  for (const Subcommand& command : subcommands()) {
    if (command.help.empty()) continue;
    page += fmt::format("- `ddprun {}`<br>\n", command.name);
    page += wrapped(fmt::format("{}.", command.help));
  }
  return page;
}

}  // namespace ddprun
