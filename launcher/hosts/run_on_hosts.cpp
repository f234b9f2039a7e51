#include "launcher/hosts/run_on_hosts.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/machine/machine_topology.hpp"
#include "base/match.hpp"
#include "base/process/file_limit.hpp"
#include "base/process/process_tree.hpp"
#include "base/system/fresh_names.hpp"
#include "base/system/own_process.hpp"
#include "base/system/signals.hpp"
#include "base/text.hpp"
#include "launcher/hosts/hosts_machine.hpp"
#include "launcher/hosts/ssh_command.hpp"
#include "launcher/hosts/ssh_link.hpp"
#include "launcher/run/report_writer.hpp"
#include "launcher/run/run_report.hpp"
#include "launcher/run/signal_hold.hpp"
#include "launcher/settings/program_files.hpp"
#include "rendezvous/transport/fresh_secret.hpp"

namespace ddprun {

namespace {

using asio::as_tuple;
using asio::use_awaitable;

constexpr std::size_t kFilesPerHost = 4;  // three pipes and a pidfd

/// Carries out what HostsMachine decides.
class HostsRun {
 public:
  HostsRun(asio::io_context& io, HostsJob job, std::string ssh, Consoles consoles)
      : executor_{io.get_executor()},
        job_{std::move(job)},
        ssh_{std::move(ssh)},
        consoles_{consoles},
        pool_{std::min(static_cast<int>(job_.rules.hosts.size()), usable_cpus())},
        machine_{job_.rules},
        links_(job_.rules.hosts.size()),
        stops_{executor_},
        passed_on_{executor_},
        child_ends_{executor_, SIGCHLD},
        alarm_{executor_, TimePoint::max()} {
    if (!job_.report_file.empty()) reports_.add_file(job_.report_file);
    const std::vector<int>& stops = job_.stop_signals;
    for (const int signal : stops)
      if (!is_ignored(signal)) stops_.add(signal);
    for (const int signal : kPassedOn)
      if (!is_ignored(signal) && signal != SIGWINCH && std::ranges::count(stops, signal) == 0)
        passed_on_.add(signal);
  }

  void begin() {
    start_coroutine(executor_, watch(stops_, true), report_failure("waiting for signals"));
    start_coroutine(executor_, watch(passed_on_, false), report_failure("handing on signals"));
    start_coroutine(executor_, ring_alarm(), report_failure("the launcher's clock"));
    auto reaping = keep_reaping(child_ends_, [this] { return reap_orphans(); });
    start_coroutine(executor_, std::move(reaping), report_failure("reaping orphans"));
    step(Begin{});
  }

  const std::optional<int>& code() const { return code_; }

 private:
  void step(const HostsEvent& event) {
    std::vector<int> connecting;
    for (const HostsAction& action : machine_.step(event, Clock::now()))
      perform(action, connecting);
    if (!connecting.empty()) connect(connecting);
    const TimePoint due = machine_.next_alarm().value_or(TimePoint::max());
    if (due != alarm_.expiry()) alarm_.expires_at(due);
  }

  void perform(const HostsAction& action, std::vector<int>& connecting) {
    match(
        action,  //
        [&](const Connect& a) { connecting.push_back(a.host); },
        [&](const StartAgent& a) { send(a.host, start_of(job_, a)); },
        [&](const PassSignal& a) { send(a.host, HostSignal{a.signal}); },
        [&](const KillSsh& a) {
          if (links_[a.host]) links_[a.host]->kill();
        },
        [&](const Complain& a) { log::warn("{}", a.text); },
        [&](const Finish& a) {
          code_ = a.code;
          write_last_report();
          stops_.cancel();
          passed_on_.cancel();
          child_ends_.cancel();
          alarm_.cancel();
        });
  }

  void send(int host, const ToHost& message) {
    if (const auto line = encode(message)) links_[host]->send(*line);
  }

  /// Starts the ssh of all of `hosts` at once.
  void connect(const std::vector<int>& hosts) {
    std::vector<NewChild> children;
    std::vector<int> opened;
    for (const int host : hosts) {
      auto link = SshLink::open(executor_, listener(host));
      if (!link) {
        cannot_connect(host, link.error());
        continue;
      }
      links_[host] = std::move(*link);
      children.push_back(
          {{ssh_, ssh_command(job_.rules.ssh, job_.rules.hosts[host]), environment_, {}},
           links_[host]->ssh_ends()});
      opened.push_back(host);
    }
    auto processes = ChildProcess::spawn(executor_, pool_, children);
    for (std::size_t i = 0; i < opened.size(); ++i) {
      if (processes[i])
        links_[opened[i]]->start(std::move(*processes[i]));
      else
        cannot_connect(opened[i], processes[i].error());
    }
  }

  /// The event is posted, because the machine takes one at a time, and this one arises while its
  /// actions are performed.
  void cannot_connect(int host, const Error& error) {
    links_[host].reset();
    asio::post(executor_, [this, host, words = std::vector{error.message}] {
      step(HostGone{host, {.code = kSshFailed}, words});
    });
  }

  SshLink::Listener listener(int host) {
    return {[this, host, reader = HostReader{}, babbled = false](std::string_view bytes) mutable {
              if (babbled) return;
              auto messages = reader.feed(bytes);
              babbled = !messages;
              if (babbled) return step(HostBabbles{host, messages.error().message});
              for (FromHost& message : *messages) hear(host, std::move(message));
            },
            [this, host](ExitStatus status, std::vector<std::string> words) {
              log::info("ssh to {} {}", job_.rules.hosts[host].label(), describe(status));
              step(HostGone{host, status, std::move(words)});
            },
            [this] { return room(); }};
  }

  asio::awaitable<void> room() {
    co_await consoles_.out.writable();
    co_await consoles_.err.writable();
  }

  /// The hosts send each report of the job, whichever of them has found it.
  void take_report(int host, const std::string& text) {
    if (!machine_.takes_report_of(host)) return;
    auto report = parse_report(text);
    if (!report) return step(HostBabbles{host, report.error().message});
    if (report->outcome == JobOutcome::kRunning) return reports_.write(*report);
    last_report_ = std::move(*report);
  }

  void write_last_report() {
    if (!last_report_) {
      last_report_ =
          job_report(Error{Error::Kind::kUnavailable, "no host has reported how the job ended"},
                     job_.start.run_id);
      last_report_->exit_code = *code_;
    }
    reports_.write_last(*last_report_);
  }

  void hear(int host, FromHost message) {
    if (const auto* output = std::get_if<HostOutput>(&message)) return show(host, *output);
    if (const auto* at = std::get_if<HostListening>(&message))
      log::info("coordinator: {} port {}, on {}", at->host, at->port,
                job_.rules.hosts[host].label());
    step(HostSaid{host, std::move(message)});
  }

  void show(int host, const HostOutput& output) {
    step(HostSaid{host, HostOutput{output.stream, ""}});  // its text decides nothing
    if (output.stream == HostOutput::Stream::kReport) return take_report(host, output.text);
    const bool note = output.stream == HostOutput::Stream::kNote;
    if (note && !notes_.is_news(host, output.text)) return;
    Console& console = output.stream == HostOutput::Stream::kOut ? consoles_.out : consoles_.err;
    // A note is ddprun's own; what workers write stays as it is.
    console.write_lines(links_[host].get(), "[" + job_.rules.hosts[host].label() + "] ",
                        note ? plain_text(output.text) : output.text);
  }

  asio::awaitable<void> watch(asio::signal_set& signals, bool to_stop) {
    while (!code_) {
      const auto [error, signal] = co_await signals.async_wait(as_tuple(use_awaitable));
      if (error) co_return;
      log::info("{} received: handed on to the hosts", signal_name(signal));
      step(Interrupt{signal, to_stop});
    }
  }

  /// They come to this process where it is the first of a container. Returns whether more may come.
  bool reap_orphans() const {
    std::vector<pid_t> wanted;
    for (const auto& link : links_)
      if (link) wanted.push_back(link->pid());
    ddprun::reap_orphans(wanted);
    return !code_;
  }

  asio::awaitable<void> ring_alarm() {
    while (!code_) {
      co_await alarm_.async_wait(as_tuple(use_awaitable));
      co_await room();  // until messages are read: the awaited one may be there already
      if (!code_ && Clock::now() >= alarm_.expiry()) step(HostsAlarm{});
    }
  }

  asio::any_io_executor executor_;
  HostsJob job_;
  std::string ssh_;  // the path of the program
  Consoles consoles_;
  const std::vector<std::string> environment_ = own_environment();
  SpawnPool pool_;
  HostsMachine machine_;
  std::vector<std::shared_ptr<SshLink>> links_;  // by host; nullptr: there is none yet
  NoteFilter notes_;
  asio::signal_set stops_;
  asio::signal_set passed_on_;
  asio::signal_set child_ends_;  // SIGCHLD
  asio::steady_timer alarm_;
  ReportWriter reports_;
  std::optional<JobReport> last_report_;  // nullopt: no host has reported yet how the job ended
  std::optional<int> code_;
};

/// The hosts get the secret in the same ssh connection as their orders.
Result<void> make_secret(HostsJob& job) {
  if (!job.makes_secret) return {};
  const auto fresh = fresh_secret();
  if (!fresh) return fresh.error();
  job.start.secret = to_text(*fresh);
  return {};
}

}  // namespace

Result<int> run_on_hosts(boost::asio::io_context& io, HostsJob job,
                         const EnvironmentLookup& environment, Consoles consoles) {
  auto ssh = find_program(job.rules.ssh.words.front(), environment);
  if (!ssh) return Error{ssh.error().kind, "--ssh-cmd: " + ssh.error().message};
  if (job.start.run_id.empty()) job.start.run_id = fresh_id();
  if (const auto made = make_secret(job); !made) return made.error();
  if (const auto line = encode(ToHost{job.start}); !line) return line.error();
  const std::size_t hosts = job.rules.hosts.size();
  if (const auto raised = raise_file_limit(fmt::format("{} hosts", hosts), kFilesPerHost * hosts);
      !raised)
    return raised.error();
  SignalHold signals{job.stop_signals};
  auto run = std::make_optional<HostsRun>(io, std::move(job), std::move(*ssh), consoles);
  signals.release();
  run->begin();
  while (!run->code()) io.run_one();
  const int code = *run->code();
  signals.hold();
  run.reset();  // its signal handlers end with it
  signals.only_interrupt();
  return code;
}

}  // namespace ddprun
