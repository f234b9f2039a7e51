#include "launcher/run/run.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent/agent.hpp"
#include "agent/control_server.hpp"
#include "agent/workers/guardian.hpp"
#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/process/file_limit.hpp"
#include "base/system/fresh_names.hpp"
#include "base/system/own_process.hpp"
#include "launcher/run/exit_code.hpp"
#include "launcher/run/node_checkup.hpp"
#include "launcher/run/node_facts.hpp"
#include "launcher/run/own_coordinator.hpp"
#include "launcher/run/report_writer.hpp"
#include "launcher/run/run_folders.hpp"
#include "launcher/run/run_recorder.hpp"
#include "launcher/run/run_report.hpp"
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
void say_threads(const LaunchSpec& spec, const NodeFacts& node,
                 const EnvironmentLookup& environment) {
  const auto threads = threads_per_worker(spec.workers, node.usable_cpus);
  if (threads && !environment("OMP_NUM_THREADS"))
    log::info("OMP_NUM_THREADS={} for each of {} workers ({} usable CPUs)", *threads, spec.workers,
              node.usable_cpus);
}

bool has_error_file(const WorkerFailure& failure) { return !failure.error_file.empty(); }

/// How the agent of a run has ended.
struct RunEnd {
  AgentEnd agent;
  EndFacts facts;
  bool tells_job;  // this node tells the user what concerns the whole job
};

/// A run from its preparation to its report. Members are destroyed in the reverse of their order:
/// the coordinator goes first, and then the files of the run.
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
    auto node = node_facts(spec_, environment_);
    if (!node) return node.error();
    node_ = std::move(*node);
    if (const auto raised =
            raise_file_limit(fmt::format("{} workers", spec_.workers), files_for_workers(spec_));
        !raised)
      return raised.error();
    node_.run.host = host_name();
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
    make_watch_folder();
    make_timer_pipe();
    return has_logs ? Result<void>{} : make_directory();
  }

  /// Serves the coordinator, or takes it to be elsewhere.
  Result<void> open_meeting() {
    if (const auto opened = coordinator_.open(node_.run); !opened) return opened.error();
    say_threads(spec_, node_, environment_);
    make_job_folder();
    open_trainer_door();
    open_worker_door();
    return {};
  }

  /// Runs the agent to its end. It handles the signals meanwhile.
  RunEnd run_agent() {
    auto agent = std::make_optional<Agent>(io_.get_executor(), spec_, node_, services());
    coordinator_.when_moved([this] { tell_job_facts(); });
    const JobRecord& record = agent->record();
    agent->record().when_hang_changes([this, &record] { report_hang(record.hang()); });
    recorder_.watch(*agent, node_);
    agent_ = &*agent;
    const auto control = open_control(*agent);
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
    if (control) control->close();
    trainer_door_.close();
    timer_pipe_.close();
    coordinator_.say_goodbye();
    RunEnd end{std::move(*ended),
               {agent->outcome(), record.verdict(), record.hang(), record.times(),
                record.past_hangs(), spec_.terms.restarts_max, spec_.terms.restarts,
                record.round() ? record.round()->node_note : "",
                record.round() ? record.round()->attempt : 0, spec_.logs.torchrun_block},
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

  /// Tells the user how it ended, and keeps the files that the report names.
  void report(const RunEnd& end) {
    JobReport job = job_report(end.agent, node_.run, end.facts);
    recorder_.end(job);
    write_report(job);
    if (end.tells_job || end.agent.why != AgentEnd::Why::kJobEnded)
      report_end(end.agent, job, end.facts, spec_.title, consoles_.err);
    if (end.agent.job.failure) hand_up_error_file(*end.agent.job.failure, environment_);
    if (directory_ && std::ranges::any_of(end.facts.outcome.failures, has_error_file))
      directory_->keep();
  }

 private:
  AgentServices services() {
    return {.consoles = consoles_,
            .coordinator = coordinator_,
            .events = event_log_,
            .trainings = trainer_door_,
            .staying = worker_door_,
            .timers = timer_pipe_,
            .check = spec_.node.check ? node_checkup(spec_) : CheckNode{},
            .folder = std::move(watch_folder_)};
  }

  /// Is called for each hang, and with nullopt when the job is in none any more.
  void report_hang(const std::optional<HangReport>& hang) {
    const JobReport report = job_report(hang, node_.run.run_id);
    events_.reported(report);
    reports_.write(report);
  }

  /// `ddprun ls` is to name the coordinator that there is now.
  void tell_job_facts() const {
    if (!job_folder_) return;
    if (const auto told = job_folder_->tell(job_facts()); !told)
      log::info("`ddprun ls` names a coordinator of before: {}", told.error().message);
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

  /// Lets other programs of this user find the job. Without it the job runs as well.
  void make_job_folder() {
    auto made = JobFolder::make(environment_);
    if (!made) return log::info("`ddprun ls` does not find this job: {}", made.error().message);
    job_folder_.emplace(std::move(*made));
  }

  /// Lets trainings of Hugging Face's Trainer tell how far they are, unless they tell it elsewhere.
  void open_trainer_door() {
    const bool elsewhere = environment_(kTrainerUrlVariable) || environment_(kTrainerTokenVariable);
    if (!spec_.introspection || !job_folder_ || elsewhere) return;
    const std::string token = fresh_token();
    const auto file = job_folder_->write("trainer_token", token);
    if (token.empty() || !file) return log::info("trainings cannot tell their steps here");
    if (const auto opened = trainer_door_.open(token); !opened)
      return log::info("trainings cannot tell their steps: {}", opened.error().message);
    node_.trainer_url = trainer_door_.url();
    node_.trainer_token = file->string();
  }

  /// Lets workers stay that can, while members of the job change. Without it all are restarted.
  void open_worker_door() {
    if (!spec_.in_place || !watch_folder_) return;
    if (const auto opened = worker_door_.open(watch_folder_->path()); !opened)
      return log::info("no worker can stay: {}", opened.error().message);
    node_.control = worker_door_.path();
  }

  JobFacts job_facts() const {
    const CoordinatorPlace& place = coordinator_.place();
    return {.run_id = node_.run.run_id,
            .title = spec_.title,
            .host = node_.run.host,
            .pid = ::getpid(),
            .started_unix_ms = started_unix_ms_,
            .workers = spec_.workers,
            .run_directory = node_.run_directory.string(),
            .coordinator = place.coordinator,
            .coordinator_here = place.is_here,
            .status_url = place.status_url};
  }

  std::unique_ptr<ControlServer> open_control(Agent& agent) {
    if (!job_folder_) return nullptr;
    started_unix_ms_ = unix_time_ms();
    auto acceptor = job_folder_->open(io_.get_executor(), job_facts());
    if (acceptor) return std::make_unique<ControlServer>(std::move(*acceptor), job_facts(), agent);
    log::info("`ddprun ls` does not find this job: {}", acceptor.error().message);
    return nullptr;
  }

  /// Signals that would end ddprun wait until the agent handles them.
  void hold_signals() {
    std::vector<int> held = spec_.stop_signals;
    std::ranges::copy(spec_.preemption.signals, std::back_inserter(held));
    signals_.emplace(held);
  }

  Result<void> open_event_log() {
    if (spec_.event_log.empty()) return {};
    const auto opened = event_log_.open(io_.get_executor(), spec_, node_.run);
    if (opened) return {};
    return Error{opened.error().kind, "--event-log: " + opened.error().message};
  }

  /// Without it the job runs as well.
  void make_watch_folder() {
    if (!spec_.introspection) return;
    auto made = WatchFolder::make(private_directory(environment_));
    if (!made) return log::info("no looks into workers: {}", made.error().message);
    watch_folder_.emplace(std::move(*made));
    node_.watch_folder = watch_folder_->path();
  }

  /// Lets workers set timers for themselves where the user wants them to, as torchrun does. Without
  /// it the job runs as well.
  void make_timer_pipe() {
    if (environment_(kFileTimerVariable) != "1") return;
    const auto made = timer_pipe_.make(environment_(kTimerFileVariable).value_or(""),
                                       private_directory(environment_));
    if (!made) return log::warn("workers cannot set timers: {}", made.error().message);
    node_.timer_pipe = timer_pipe_.path();
  }

  Result<void> make_directory() {
    if (spec_.logs.no_files) return {};
    auto made = make_run_directory(spec_.logs, node_.run.run_id, environment_);
    if (!made) return made.error();
    directory_.emplace(std::move(*made));
    node_.run_directory = directory_->path();
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
  std::optional<JobFolder> job_folder_;
  std::int64_t started_unix_ms_ = 0;
  TrainerDoor trainer_door_{io_.get_executor(), spec_.workers};
  WorkerDoor worker_door_{io_.get_executor(), spec_.workers};
  TimerPipe timer_pipe_{io_.get_executor()};
  std::optional<WatchFolder> watch_folder_;
  Agent* agent_ = nullptr;  // while it runs
  ReportWriter reports_;
  RunRecorder recorder_{io_, spec_};
  OwnCoordinator coordinator_{io_, spec_, events_, [this](HttpRequest request) {
                                return log_from_agent(std::move(request));
                              }};
};

}  // namespace

Result<int> run(asio::io_context& io, const LaunchSpec& spec, const EnvironmentLookup& environment,
                Console& out, Console& err, const RunEvents& events) {
  Run run{io, spec, environment, {out, err}, events};
  auto begun = run.prepare();
  if (begun) begun = run.open_meeting();
  if (!begun) {
    run.write_report(job_report(begun.error(), spec.meeting.run_id));
    return begun.error();
  }
  const RunEnd end = run.run_agent();
  run.report(end);
  if (end.agent.why == AgentEnd::Why::kStopSignal)
    for (Console* const console : {&out, &err}) console->flush_blocking(kStoppedPatience);
  return exit_code(end.agent);
}

}  // namespace ddprun
