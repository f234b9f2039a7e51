#include "launcher/run/run.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "agent/agent.hpp"
#include "agent/control_server.hpp"
#include "agent/timers/timer_table.hpp"
#include "agent/workers/guardian.hpp"
#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/process/file_limit.hpp"
#include "base/system/fresh_names.hpp"
#include "base/system/own_process.hpp"
#include "launcher/run/exit_code.hpp"
#include "launcher/run/machine_facts.hpp"
#include "launcher/run/node_checkup.hpp"
#include "launcher/run/own_command_line.hpp"
#include "launcher/run/own_coordinator.hpp"
#include "launcher/run/report_writer.hpp"
#include "launcher/run/run_folders.hpp"
#include "launcher/run/run_recorder.hpp"
#include "launcher/run/run_report.hpp"
#include "launcher/run/run_services.hpp"
#include "launcher/run/service.hpp"
#include "launcher/run/signal_hold.hpp"

namespace ddprun {

namespace {

/// A person who stops a job waits no longer for the file that its output goes to.
constexpr std::chrono::seconds kStoppedPatience{2};
constexpr std::size_t kFilesPerWorker = 3;       // its two streams and its pidfd
constexpr std::size_t kStoreFilesPerWorker = 4;  // its connections, with --store local

std::size_t files_for_workers(const LaunchSpec& spec) {
  const bool local = spec.terms.store == StoreAt::kLocal;
  return (kFilesPerWorker + (local ? kStoreFilesPerWorker : 0)) *
         static_cast<std::size_t>(spec.workers);
}

/// Tells how many threads each worker gets where the user has chosen none.
void say_threads(const LaunchSpec& spec, const MachineFacts& machine,
                 const EnvironmentLookup& environment) {
  const auto threads = threads_per_worker(spec.workers, machine.usable_cpus);
  if (threads && !environment("OMP_NUM_THREADS"))
    log::info("OMP_NUM_THREADS={} for each of {} workers ({} usable CPUs)", *threads, spec.workers,
              machine.usable_cpus);
}

bool has_error_file(const WorkerFailure& failure) { return !failure.error_file.empty(); }

/// How the agent of a run has ended.
struct RunEnd {
  AgentEnd agent;
  EndFacts facts;
  bool tells_job;  // this node tells the user what concerns the whole job
};

/// A run from its preparation to its report. Members are destroyed in the reverse of their order:
/// the services go first, and then the files of the run.
class Run {
 public:
  Run(asio::io_context& io, const LaunchSpec& spec, const EnvironmentLookup& environment,
      Consoles consoles, const RunEvents& events)
      : io_{io}, spec_{spec}, environment_{environment}, consoles_{consoles}, events_{events} {
    if (!spec.report_file.empty()) reports_.add_file(spec.report_file);
  }

  /// Makes all that the run needs on this machine.
  Result<void> prepare() {
    if (const auto threads = may_start_threads(); !threads) return threads.error();
    if (own_path().empty())
      log::warn(
          "/proc is not mounted (mount -t proc proc /proc): processes that leave the session of "
          "their worker outlive the job");
    auto machine = machine_facts(spec_, environment_);
    if (!machine) return machine.error();
    node_.machine = std::move(*machine);
    if (const auto raised =
            raise_file_limit(fmt::format("{} workers", spec_.workers), files_for_workers(spec_));
        !raised)
      return raised.error();
    node_.run.host = host_name();
    node_.run.command = own_command_line();
    node_.run.run_id = spec_.meeting.run_id.empty() ? fresh_id() : spec_.meeting.run_id;
    // A folder of the user's may hang. Nothing is there yet that a signal would leave behind.
    await_folders(spec_, environment_);
    if (const auto opened = open_event_log(); !opened) return opened.error();
    const bool has_logs = !spec_.logs.directory.empty() || wants_log_files(spec_.logs);
    if (has_logs)
      if (auto made = make_directory(); !made) return made;
    hold_signals();
    node_.mark = fresh_id();
    guardian_.emplace(node_.mark);
    node_.guardian = guardian_->pid();
    if (has_logs) return {};
    auto made = make_directory();
    if (directory_) guardian_->also_remove(directory_->path());
    return made;
  }

  Result<void> prepare_services() {
    for (Service* const service : services_)
      if (auto prepared = service->prepare(node_); !prepared) return prepared;
    hand_to_guardian();
    say_threads(spec_, node_.machine, environment_);
    return {};
  }

  /// Puts the folder of the program's checkpoints into memory, which may take a slow disk minutes.
  /// Nothing runs yet, and the next run goes on with what a signal leaves.
  Result<void> begin_checkpoints() {
    if (!spec_.node.checkpoints) return {};
    PeerTls tls;
    if (spec_.secret) {
      auto of_job = PeerTls::of_job(job_key(*spec_.secret, node_.run.run_id));
      if (!of_job) return of_job.error();
      tls = std::move(*of_job);
    }
    checkpoints_ = make_keeper(
        io_.get_executor(), *spec_.node.checkpoints,
        [this](const CheckpointNews& news) { tell(news); }, std::move(tls));
    std::optional<Result<void>> begun;
    const auto note = [&](Result<void> how) { begun = std::move(how); };
    start_coroutine(io_, then(checkpoints_->begin(), note), report_failure("checkpoints"));
    signals_->release();
    while (!begun) io_.run_one();
    signals_->hold();
    if (*begun) return {};
    return Error{begun->error().kind, "--checkpoints: " + begun->error().message};
  }

  /// Runs the agent to its end. It handles the signals meanwhile.
  RunEnd run_agent() {
    auto agent = std::make_optional<Agent>(io_.get_executor(), spec_, node_, agent_services());
    const JobRecord& record = agent->record();
    agent->record().when_hang_changes([this, &record] { report_hang(record.job().hang); });
    if (put_back_) agent->record().hear(*put_back_);
    agent_ = &*agent;
    for (Service* const service : services_) service->start(*agent);
    signals_->release();
    std::optional<AgentEnd> ended;
    const auto note_end = [&](AgentEnd how) {
      ended = std::move(how);
      coordinator_.close();
    };
    start_coroutine(io_, then(agent->run(), note_end), report_failure("the agent"));
    while (!ended) io_.run_one();
    events_.ended(*ended);
    agent_ = nullptr;
    event_log_.end();
    std::for_each(services_.rbegin(), services_.rend(), std::mem_fn(&Service::stop));
    RunEnd end{std::move(*ended),
               {agent->outcome(), record.job(), spec_.terms, spec_.logs.torchrun_block},
               agent->tells_job()};
    signals_->hold();
    agent.reset();  // its signal handlers end with it
    signals_->only_interrupt();
    return end;
  }

  /// Writes the report to where the user wants it, and where logs are.
  void write_report(const JobReport& report) {
    events_.reported(report);
    reports_.write_last(report);
  }

  /// Whether what the program saved is where the user wants it.
  bool has_written_checkpoints() const { return !checkpoints_ || checkpoints_->has_written(); }

  /// Tells the user how it ended, and keeps the files that the report names.
  void report(const RunEnd& end) {
    JobReport job = job_report(end.agent, node_.run, end.facts);
    recorder_.end(job);
    write_report(job);
    if (end.tells_job || end.agent.why != AgentEnd::Why::kJobEnded)
      report_end(end.agent, job, end.facts, spec_.title, consoles_.err);
    if (end.agent.job.failure) hand_up_error_file(*end.agent.job.failure, environment_);
    if (!directory_ || std::ranges::none_of(end.facts.outcome.failures, has_error_file)) return;
    directory_->keep();
    guardian_.reset();  // nothing runs any more, and it would remove what the report names
  }

 private:
  void tell(const CheckpointNews& news) {
    const bool is_put_back = news.what == CheckpointNews::What::kPutBack;
    const bool begins = is_put_back && !news.name.empty();
    log::write(begins ? log::Level::kWarning : log::Level::kInfo, sentence_of(news));
    event_log_.note(news);
    if (agent_ != nullptr) return agent_->record().hear(news);
    if (is_put_back) put_back_ = news;
  }

  AgentServices agent_services() {
    return {.consoles = consoles_,
            .coordinator = coordinator_,
            .events = event_log_,
            .trainings = for_workers_.trainings(),
            .staying = for_workers_.staying(),
            .timers = for_workers_.timers(),
            .check = spec_.node.check ? node_checkup(spec_) : CheckNode{},
            .checkpoints = checkpoints_.get(),
            .folder = for_workers_.take_watch_folder()};
  }

  /// Is called for each hang, and with nullopt when the job is in none any more.
  void report_hang(const std::optional<HangReport>& hang) {
    const JobReport report = job_report(hang, node_.run.run_id);
    events_.reported(report);
    reports_.write(report);
  }

  /// The page is served in the coordinator's event loop; logs belong to the agent's.
  asio::awaitable<HttpReply> log_from_agent(HttpRequest request) {
    HttpReply reply = co_await co_spawn(io_, log_here(std::move(request)), asio::use_awaitable);
    co_return reply;
  }
  asio::awaitable<HttpReply> log_here(HttpRequest request) {
    if (agent_ == nullptr) co_return HttpReply{http_sentence(404, "the agent has ended")};
    HttpReply reply = co_await answer_log(*agent_, std::move(request));
    co_return reply;
  }

  /// Signals that would end ddprun wait until the agent handles them.
  void hold_signals() {
    std::vector<int> held = spec_.stop_signals;
    std::ranges::copy(spec_.preemption.signals, std::back_inserter(held));
    signals_.emplace(held);
  }

  /// What the services have made under fresh names is removed also if ddprun is killed. A pipe that
  /// the user has named is not: the next job may have it by then.
  void hand_to_guardian() {
    if (const auto& folder = published_.folder()) {
      guardian_->also_remove(folder->path());
      guardian_->also_remove_if_empty(folder->path().parent_path());
    }
    const std::string& pipe = node_.endpoints.timer_pipe;
    const bool is_own = pipe != environment_(kTimerFileVariable).value_or("");
    for (const std::string& path : {node_.paths.watch_folder, is_own ? pipe : ""})
      if (!path.empty()) guardian_->also_remove(path);
  }

  Result<void> open_event_log() {
    if (spec_.event_log.empty()) return {};
    const auto opened = event_log_.open(io_.get_executor(), spec_, node_.run);
    if (opened) return {};
    return Error{opened.error().kind, "--event-log: " + opened.error().message};
  }

  Result<void> make_directory() {
    if (spec_.logs.no_files) return {};
    auto made = make_run_directory(spec_.logs, node_.run.run_id, environment_);
    if (!made) return made.error();
    directory_.emplace(std::move(*made));
    node_.paths.run_directory = directory_->path();
    if (!spec_.logs.directory.empty()) reports_.add_file(directory_->path() / "report.json");
    return {};
  }

  asio::io_context& io_;
  const LaunchSpec& spec_;
  const EnvironmentLookup& environment_;
  Consoles consoles_;
  const RunEvents& events_;
  NodeFacts node_;
  std::optional<SignalHold> signals_;
  std::optional<Guardian> guardian_;
  std::optional<RunDirectory> directory_;
  EventLog event_log_;
  std::unique_ptr<CheckpointKeeper> checkpoints_;
  std::optional<CheckpointNews> put_back_;  // before there was an agent
  Agent* agent_ = nullptr;                  // while it runs
  ReportWriter reports_;
  OwnCoordinator coordinator_{io_, spec_, events_, [this](HttpRequest request) {
                                return log_from_agent(std::move(request));
                              }};
  PublishedJob published_{io_.get_executor(), spec_, environment_, coordinator_};
  WorkerServices for_workers_{io_.get_executor(), spec_, environment_, published_};
  RunRecorder recorder_{io_, spec_};
  /// The coordinator is stopped last: its last words end when nothing else is in the event loop.
  const std::array<Service*, 4> services_{&coordinator_, &published_, &for_workers_, &recorder_};
};

}  // namespace

Result<int> run(asio::io_context& io, const LaunchSpec& spec, const EnvironmentLookup& environment,
                Console& out, Console& err, const RunEvents& events) {
  Run run{io, spec, environment, {out, err}, events};
  auto begun = run.prepare();
  if (begun) begun = run.prepare_services();
  if (begun) begun = run.begin_checkpoints();
  if (!begun) {
    run.write_report(job_report(begun.error(), spec.meeting.run_id));
    return begun.error();
  }
  const RunEnd end = run.run_agent();
  run.report(end);
  if (end.agent.why == AgentEnd::Why::kStopSignal)
    for (Console* const console : {&out, &err}) console->flush_blocking(kStoppedPatience);
  const int code = exit_code(end.agent);
  return code == 0 && !run.has_written_checkpoints() ? kSystemError : code;
}

}  // namespace ddprun
