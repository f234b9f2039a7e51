#include "launcher/live/live_commands.hpp"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "agent/output/console.hpp"
#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/json/json_text.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "launcher/live/job_client.hpp"
#include "launcher/live/job_texts.hpp"
#include "launcher/live/output_reader.hpp"
#include "launcher/options/command_options.hpp"
#include "launcher/run/terminal.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

std::string json_of(const std::vector<JobLine>& jobs) {
  nlohmann::json list = nlohmann::json::array();
  for (const JobLine& job : jobs) {
    nlohmann::json entry = *json_or_null(to_json(job.facts));
    if (job.status) entry["status"] = *json_or_null(to_json(*job.status));
    list.push_back(std::move(entry));
  }
  return json_text(nlohmann::json{{"jobs", std::move(list)}}) + "\n";
}

bool is_endpoint(const std::string& word) { return word.find(':') != std::string::npos; }

/// A connection that writes to one of our streams what a worker writes to its own.
asio::awaitable<Result<HttpHeard>> copy_log(FoundJob job, HttpQuestion question, Console& console) {
  auto socket = connect_to_job(co_await asio::this_coro::executor, job);
  if (!socket) co_return socket.error();
  const auto write = [&console](std::string_view piece) {
    console.write(std::string{piece});
    return true;
  };
  auto heard = co_await follow_http(std::move(*socket), std::move(question), 5s, write);
  co_return heard;
}

/// Either stream may be the one whose reader has had enough.
asio::awaitable<void> a_reader_leaves() {
  co_await ends_first(reader_leaves(STDOUT_FILENO), reader_leaves(STDERR_FILENO));
}

struct LogOptions {
  int rank = 0;
  bool follow = false;
  std::size_t bytes = 16 * 1024;
};

/// Copies both streams of the worker at the same time, as long as somebody reads them.
Result<void> copy_both(const CommandContext& context, const FoundJob& job,
                       const LogOptions& options) {
  Result<void> result;
  for (const bool err : {false, true}) {
    HttpQuestion question{
        .target = "/log?rank=" + std::to_string(options.rank) + "&stream=" + (err ? "err" : "out") +
                  "&bytes=" + std::to_string(options.bytes) + (options.follow ? "&follow=1" : "")};
    const auto judge = [&](const std::optional<Result<HttpHeard>>& copied) {
      if (!copied) return;
      const Result<HttpHeard>& heard = *copied;
      if (!heard)
        result = heard.error();
      else if (heard->status != 200)
        result = Error{Error::Kind::kNotFound, first_plain_line(heard->body)};
    };
    auto copying = before(a_reader_leaves(),
                          copy_log(job, std::move(question), err ? context.err : context.out));
    start_coroutine(context.io, then(std::move(copying), judge), report_failure("reading a log"));
  }
  context.io.restart();
  context.io.run();
  return result;
}

std::vector<JobLine> all_jobs(const CommandContext& context) {
  const std::vector<FoundJob> found = running_jobs();
  const auto states = status_of_jobs(context.io, found);
  const std::vector<std::string> names = names_of(found);
  std::vector<JobLine> lines;
  for (std::size_t i = 0; i < found.size(); ++i)
    lines.push_back({names[i], found[i].facts, states[i]});
  return lines;
}

std::string list_of(const std::vector<JobLine>& jobs) {
  if (jobs.empty()) return "no job of this user runs on this machine\n";
  return jobs_table(jobs, unix_time_ms(), {.color = wants_color(STDOUT_FILENO)});
}

/// Between looking and stopping, one's own job may have ended, and another one may be the only one.
/// So nothing is stopped that the user has not named. Returns what is answered; "": nothing.
Result<std::string> ask_which(const CommandContext& context) {
  context.out.write(list_of(all_jobs(context)));
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0)
    return invalid("stop: no job is named, so none is stopped: ddprun stop JOB");
  context.out.write("Stop which job? Its name or process id, or nothing for none: ");
  context.out.flush_blocking();
  std::string word;
  std::getline(std::cin, word);
  return word;
}

}  // namespace

Result<int> run_ls(const std::vector<std::string>& words, const CommandContext& context) {
  bool json = false;
  CommandOptions command{"Lists the running jobs of this user on this machine.", "ddprun ls"};
  command.flag("--json", json, "print all that is known as JSON");
  command.examples("ddprun ls\nddprun ls --json | jq '.jobs[].status.step'");
  if (const auto done = command.parse(words, context.out)) return *done;
  const std::vector<JobLine> lines = all_jobs(context);
  context.out.write(json ? json_of(lines) : list_of(lines));
  return 0;
}

Result<int> run_status(const std::vector<std::string>& words, const CommandContext& context) {
  bool json = false;
  std::string word;
  CommandOptions command{"Shows the state of a running job, its nodes, ranks and progress.",
                         "ddprun status"};
  command.argument("JOB", word,
                   std::string{kJobHelp} + "; or HOST:PORT or the URL of a status page");
  command.flag("--json", json, "print all that is known as JSON");
  command.examples("ddprun status\nddprun status train.py --json\nddprun status http://h1:8080/");
  if (const auto done = command.parse(words, context.out)) return *done;
  Result<JobStatus> status = JobStatus{};
  if (is_endpoint(word)) {
    status = status_at(context.io, word);
  } else {
    const auto agents = find_job(word);
    if (!agents) return agents.error();
    status = status_of_job(context.io, *agents);
    if (status && !json) status->run_id = names_of(*agents).front();
  }
  if (!status) return status.error();
  context.out.write(json ? to_json(*status) + "\n"
                         : status_text(*status, {.color = wants_color(STDOUT_FILENO)}));
  return 0;
}

Result<int> run_dump(const std::vector<std::string>& words, const CommandContext& context) {
  bool json = false;
  std::string word;
  CommandOptions command{
      "Shows what all workers of a running job do at this moment, on all nodes: their stacks, the "
      "operations in which they wait, and the ranks for which they wait. The workers go on.",
      "ddprun dump"};
  command.argument("JOB", word, kJobHelp);
  command.flag("--json", json, "print it as JSON");
  command.examples("ddprun dump\nddprun dump train.py-4711 --json > dump.json");
  if (const auto done = command.parse(words, context.out)) return *done;
  const auto agents = find_job(word);
  if (!agents) return agents.error();
  const auto dump = dump_of_job(context.io, *agents, json);
  if (!dump) return dump.error();
  context.out.write(*dump);
  return 0;
}

Result<int> run_logs(const std::vector<std::string>& words, const CommandContext& context) {
  LogOptions options;
  std::vector<std::string> names;
  CommandOptions command{
      "Shows what a worker of a running job writes, its stdout on stdout and its stderr on stderr. "
      "If the worker has no log files (--log-dir with --tee or --redirects), only its last lines "
      "are known.",
      "ddprun logs"};
  command.argument("[JOB] RANK", names, "the job, if several run, and the worker's rank",
                   {.required = true, .count_max = 2});
  command.flag("-f,--follow", options.follow, "keep showing what it writes");
  command.option("-c,--bytes", options.bytes, "N",
                 "show at most this many bytes of earlier output");
  command.examples("ddprun logs 3\nddprun logs train.py 3 -f");
  if (const auto done = command.parse(words, context.out)) return *done;
  const auto meant = find_rank("logs", names);
  if (!meant) return meant.error();
  options.rank = meant->rank;
  const auto status = status_of_job(context.io, meant->agents);
  const FoundJob* const having = status ? agent_of(meant->agents, *status, options.rank) : nullptr;
  const FoundJob& agent = having != nullptr ? *having : meant->agents.front();
  const auto copied = copy_both(context, agent, options);
  if (!copied) return copied.error();
  return 0;
}

Result<int> run_stop(const std::vector<std::string>& words, const CommandContext& context) {
  std::string word;
  CommandOptions command{
      "Stops a running job, as Ctrl-C would. Without a name it lists the running jobs, and on a "
      "terminal asks which one to stop.",
      "ddprun stop"};
  command.argument("JOB", word, "the beginning of its name, or a process id");
  command.examples("ddprun stop train.py-4711");
  if (const auto done = command.parse(words, context.out)) return *done;
  if (word.empty()) {
    const auto asked = ask_which(context);
    if (!asked) return asked.error();
    word = *asked;
  }
  if (word.empty()) return 0;
  const auto agents = find_job(word);
  if (!agents) return agents.error();
  const std::string name = plain_line(names_of(*agents).front());
  for (const FoundJob& agent : *agents) {
    const auto stopped = ask_job(context.io, agent, {.method = "POST", .target = "/stop"});
    if (!stopped) return stopped.error();
    context.out.write("stopping job " + name + " (process " + std::to_string(agent.facts.pid) +
                      ")\n");
  }
  return 0;
}

namespace {

using Seconds = std::chrono::duration<double>;

/// A terminal that shows one screen after the other. It is as it was afterwards.
class Screen {
 public:
  explicit Screen(Console& out) : out_{out} {
    if (::tcgetattr(STDIN_FILENO, &before_) == 0) {
      termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      changed_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    }
    out_.write("\x1b[?1049h\x1b[?25l");  // another screen, without a cursor
  }
  ~Screen() {
    out_.write("\x1b[?25h\x1b[?1049l");
    out_.flush_blocking();
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Screen(const Screen&) = delete;

  static TextStyle style() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 2)
      return {.color = true, .columns = 80, .lines = 23};
    return {.color = wants_color(STDOUT_FILENO), .columns = size.ws_col, .lines = size.ws_row - 1};
  }

  /// Each line is cleared when it is written, so that nothing flickers.
  void show(const std::string& text) {
    std::string shown = "\x1b[H";
    for (const char c : text) shown += c == '\n' ? std::string{"\x1b[K\n"} : std::string{c};
    out_.write(shown + "\x1b[J");
  }

 private:
  Console& out_;
  termios before_{};
  bool changed_ = false;
};

/// Says when the user has had enough: he types q, sends a signal, or reads no more, as `head` does.
class Keys {
 public:
  explicit Keys(asio::io_context& io) : signals_{io, SIGINT, SIGTERM}, input_{io} {
    signals_.async_wait([this](const boost::system::error_code& error, int) { enough_ |= !error; });
    start_coroutine(io, wait_for_leave(), report_failure("watching for a reader's leave"));
    if (::isatty(STDIN_FILENO) != 1) return;
    input_.assign(::dup(STDIN_FILENO));
    read();
  }
  bool enough() const { return enough_; }

 private:
  asio::awaitable<void> wait_for_leave() {
    co_await reader_leaves(STDOUT_FILENO);
    enough_ = true;
  }

  void read() {
    input_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [this](const boost::system::error_code& error) {
                        char key = 0;
                        if (error || ::read(input_.native_handle(), &key, 1) != 1) return;
                        enough_ = enough_ || key == 'q' || key == 'Q';
                        if (!enough_) read();
                      });
  }

  asio::signal_set signals_;
  asio::posix::stream_descriptor input_;
  bool enough_ = false;
};

/// Waits, unless the user has had enough.
void wait(asio::io_context& io, const Keys& keys, Seconds time) {
  asio::steady_timer timer{io, std::chrono::duration_cast<asio::steady_timer::duration>(time)};
  bool over = false;
  timer.async_wait([&](const boost::system::error_code&) { over = true; });
  io.restart();
  while (!over && !keys.enough()) io.run_one();
  timer.cancel();
  io.poll();
}

/// Looks until the job has gone; then that is no error.
Result<void> watch(const CommandContext& context, const std::string& word, Seconds interval) {
  auto agents = find_job(word);
  if (!agents) return agents.error();
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  std::optional<Screen> screen;
  if (terminal) screen.emplace(context.out);
  const Keys keys{context.io};
  while (!keys.enough()) {
    auto status = status_of_job(context.io, *agents);
    if (!status && !find_job(std::to_string((*agents)[0].facts.pid))) return {};
    if (status) status->run_id = names_of(*agents).front();
    const std::string text = status ? status_text(*status, terminal ? Screen::style() : TextStyle{})
                                    : status.error().message + "\n";
    if (terminal)
      screen->show(text);
    else
      context.out.write(text + "\n");
    wait(context.io, keys, interval);
  }
  return {};
}

}  // namespace

Result<int> run_top(const std::vector<std::string>& words, const CommandContext& context) {
  std::string word;
  double interval = 1;
  CommandOptions command{
      "Shows the state of a running job and keeps it up to date. q or Ctrl-C ends it; the job goes "
      "on.",
      "ddprun top"};
  command.examples("ddprun top\nddprun top train.py --interval 5");
  command.argument("JOB", word, kJobHelp);
  command.option("-n,--interval", interval, "SECONDS", "time from one look to the next",
                 {.least = 0.1, .most = 3600});
  if (const auto done = command.parse(words, context.out)) return *done;
  const auto watched = watch(context, word, Seconds{interval});
  if (!watched) return watched.error();
  return 0;
}

}  // namespace ddprun
