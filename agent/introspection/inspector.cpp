#include "agent/introspection/inspector.hpp"

#include <malloc.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <fstream>
#include <sstream>
#include <utility>

#include "agent/introspection/native_stack.hpp"
#include "agent/introspection/worker_server.hpp"
#include "base/process/process_facts.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr milliseconds kLookPatience{1'000};
constexpr milliseconds kFindPatience{700};  // for each answer, also on a busy machine
constexpr milliseconds kSignalPatience{150};
constexpr milliseconds kSignalPoll{5};
constexpr milliseconds kInstructionMax{20};  // an instruction of the interpreter takes less, by far
constexpr milliseconds kToolPatienceMax{1'500};
constexpr milliseconds kTimeToTell{50};
constexpr std::size_t kDataLoadersMax = 4;
constexpr std::size_t kStacksBytesMax = 256 * 1024;
constexpr std::size_t kWaitBytesMax = 4 * 1024;
constexpr std::size_t kAnswerKeptMax = 64 * 1024;

std::size_t size_of(const std::filesystem::path& file) {
  std::error_code gone;
  const auto size = std::filesystem::file_size(file, gone);
  return gone ? 0 : static_cast<std::size_t>(size);
}

std::string read_from(const std::filesystem::path& file, std::size_t begin) {
  std::ifstream in{file, std::ios::binary};
  in.seekg(static_cast<std::streamoff>(begin));
  std::ostringstream read;
  read << in.rdbuf();
  std::string text = read.str();
  if (text.size() > kStacksBytesMax) text.erase(0, text.size() - kStacksBytesMax);
  return text;
}

asio::awaitable<void> pause(milliseconds time) {
  asio::steady_timer timer{co_await asio::this_coro::executor, time};
  co_await timer.async_wait(asio::use_awaitable);
}

/// A tool stops the worker while it looks, so it does not get all of the time that there may be.
milliseconds time_for_tool(TimePoint ends) {
  const auto left = duration_cast<milliseconds>(ends - Clock::now()) - kTimeToTell;
  return std::clamp(left, kTimeToTell, kToolPatienceMax);
}

/// Whether the main thread of a Python process, which has run that long since it was asked to
/// answer between two instructions, is within one that native code does. Without a CPU it could not
/// answer.
bool is_in_native_code(pid_t pid, std::chrono::microseconds ran) {
  const auto facts = read_process(pid);
  return facts && (facts->state == 'S' || ran >= kInstructionMax);
}

/// The allocator would keep what a large answer has taken until the next one, seconds later.
void give_memory_back() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

/// While it exists, a worker that ends waits for the answer: see close() in sitecustomize.py.
class Asked {
 public:
  /// `asking` counts those that exist for the same socket.
  Asked(std::filesystem::path socket, int& asking)
      : file_{std::move(socket) += ".asked"}, asking_{asking} {
    ++asking_;
    std::ofstream{file_};
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  ~Asked() {
    std::error_code gone;
    if (--asking_ == 0 && answered) std::filesystem::remove(file_, gone);
  }
  bool answered = false;

 private:
  std::filesystem::path file_;
  int& asking_;
};

}  // namespace

WorkerFinding seen_from_outside(int rank, pid_t pid) {
  WorkerFinding finding{.rank = rank, .state = 'X', .looked_into = false};
  if (const auto facts = read_process(pid)) finding.state = facts->state;
  finding.wait_channel = read_wait_channel(pid);
  return finding;
}

/// Whether the worker has opened anything so far. A worker may start several programs in turn.
bool Inspector::find_files() {
  std::error_code gone;
  if (!files_.socket.empty() && std::filesystem::exists(files_.socket, gone)) return true;
  files_ = folder_.opened_by(name_).value_or(WatchFolder::Opened{});
  return files_.pid != 0;
}

/// NCCL's recorder can tell its status alone. The other backends' tells all that it has.
asio::awaitable<std::string> Inspector::trace() {
  if (no_recorder_) co_return "";
  auto nccl = co_await ask_worker(files_.socket, "dump_nccl_trace_json?includecollectives=false",
                                  kLookPatience);
  if (nccl && nccl->find("\"last_enqueued_collective\"") != std::string::npos)
    co_return std::move(*nccl);
  auto any = co_await ask_worker(files_.socket, "fr_trace_json", kLookPatience);
  if (any) co_return std::move(*any);
  no_recorder_ = any.error().kind == Error::Kind::kNotFound;
  co_return "";
}

asio::awaitable<WorkerLook> Inspector::look(pid_t pid) {
  WorkerLook look{.deep = true};
  const TimePoint began = Clock::now();
  std::size_t answered = 0;
  if (find_files() && !files_.socket.empty()) {
    const auto counters = co_await ask_worker(files_.socket, "wait_counter_values", kLookPatience);
    look.watched = counters.has_value();
    if (counters) {
      look.waits_in = read_store_wait(*counters);
      const std::string status = co_await trace();
      if (!status.empty()) look.groups = read_group_progress(status, names_);
      look.arrivals = read_arrivals(status);
      answered = status.size();
    }
  }
  if (answered > kAnswerKeptMax) give_memory_back();
  look.asked = duration_cast<milliseconds>(Clock::now() - began);
  if (!look.arrivals.empty())
    look.strain = co_await strains_.since_last_look(files_.pid, Clock::now() + kLookPatience);
  const ThreadTimes times = read_main_thread_times(files_.pid != 0 ? files_.pid : pid);
  look.wanted = duration_cast<milliseconds>(times.ran + times.waited);
  for (const ProcessFacts& process : read_process_tree(pid)) look.cpu += process.cpu;
  co_return look;
}

asio::awaitable<WorkerFinding> Inspector::find_out(pid_t pid, bool idle, Depth depth,
                                                   TimePoint ends) {
  WorkerFinding finding{.rank = rank_, .idle = idle};
  const bool python = find_files();
  const pid_t process = python ? files_.pid : pid;
  const auto facts = read_process(process);
  if (!facts) {
    finding.state = 'X';
    co_return finding;
  }
  finding.state = facts->state;
  finding.wait_channel = read_wait_channel(process);
  finding.has_server = !files_.socket.empty();
  const bool stopped = facts->state == 'T' || facts->state == 't' || facts->state == 'D';
  if (stopped || finding.state == 'Z') co_return finding;
  const bool sample = depth == Depth::kSample;
  if (sample && finding.state != 'S') co_return finding;
  if (finding.has_server) finding.frames = co_await stacks_by_server(finding);
  // A signal interrupts system calls. Python goes on with its own; native code may not.
  const bool ask_by_signal = finding.has_server ? depth == Depth::kDisturb : python;
  if (finding.frames.empty() && ask_by_signal) finding.frames = co_await stacks_by_signals(process);
  if (waits_for_data_loader(finding.frames))
    co_await look_at_data_loaders(process, !sample, finding);
  // A worker that waits in a collective has said so. The stacks of all of these would take the time
  // for missing ones.
  const auto tool = sample ? std::nullopt : installed_stack_tool();
  if (finding.frames.empty() && !finding.pending && tool)
    finding.native_stack = co_await native_stack(process, *tool, time_for_tool(ends));
  co_return finding;
}

std::optional<pid_t> Inspector::debugged_process() {
  if (!find_files() || !handles_signal(files_.pid, kSafeStackSignal)) return std::nullopt;
  return files_.pid;
}

/// A thread of the hook's carries out what it can while the main thread is in native code. What it
/// leaves, the main thread does.
asio::awaitable<void> Inspector::give(DebugOrder order) {
  const auto process = debugged_process();
  if (!process) co_return;
  const WatchFolder::Opened files = files_;
  const std::string file = name_ + "." + std::to_string(*process) + "." + kind_of(order);
  if (!folder_.write(file, text_of(order))) co_return;
  if (!files.socket.empty()) {
    auto orders = files.socket;
    const auto obeyed =
        co_await ask_worker(orders.replace_extension("orders"), "orders", kFindPatience);
    std::error_code gone;
    if (obeyed && !std::filesystem::exists(folder_.path() / file, gone)) co_return;
  }
  kill(*process, kSafeStackSignal);
}

std::optional<DebuggedRank> Inspector::wait_for_debugger() const {
  std::ifstream in{folder_.path() / (name_ + ".waits")};
  if (!in) return std::nullopt;
  std::string text(kWaitBytesMax, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  auto wait = read_wait(text);
  if (wait) wait->rank = rank_;
  return wait;
}

asio::awaitable<Frames> Inspector::stacks_by_server(WorkerFinding& finding) {
  const auto counters = co_await ask_worker(files_.socket, "wait_counter_values", kFindPatience);
  finding.answers = counters.has_value();
  if (!counters) co_return Frames{};
  finding.waits_in = read_store_wait(*counters);
  finding.pending = co_await pending();
  Asked asked{files_.socket, asking_};
  const auto stacks = co_await ask_worker(files_.socket, "dump_traceback", kFindPatience);
  asked.answered = stacks.has_value() || stacks.error().kind != Error::Kind::kTimeout;
  if (!asked.answered) finding.keeps_lock = true;
  if (!stacks) co_return Frames{};
  const auto threads = parse_python_stacks(*stacks);
  finding.thread_wait = thread_wait(threads);
  co_return telling_thread(threads);
}

/// NCCL has a recorder of its own, of which fr_trace_json knows nothing; it knows that of the other
/// backends.
asio::awaitable<std::optional<PendingCollective>> Inspector::pending() {
  static const std::array<std::string, 2> kRecorders{"dump_nccl_trace_json?onlyactive=true",
                                                     "fr_trace_json"};
  for (const std::string& recorder : kRecorders) {
    const auto trace = co_await ask_worker(files_.socket, recorder, kFindPatience);
    if (!trace && trace.error().kind == Error::Kind::kTimeout) co_return std::nullopt;
    auto found = trace ? read_pending(*trace) : std::nullopt;
    if (found) co_return found;
  }
  co_return std::nullopt;
}

asio::awaitable<Frames> Inspector::stacks_by_signals(pid_t pid) {
  const auto before = read_main_thread_times(pid).ran;
  Frames frames = co_await stacks_by_signal(pid, kSafeStackSignal);
  if (frames.empty() && is_in_native_code(pid, read_main_thread_times(pid).ran - before))
    frames = co_await stacks_by_signal(pid, kNativeStackSignal);
  co_return frames;
}

asio::awaitable<Frames> Inspector::stacks_by_signal(pid_t pid, int signal) {
  if (!handles_signal(pid, signal)) co_return Frames{};
  const std::size_t before = size_of(files_.stacks);
  if (kill(pid, signal) != 0) co_return Frames{};
  const TimePoint deadline = Clock::now() + kSignalPatience;
  std::size_t seen = before;
  while (Clock::now() < deadline) {
    co_await pause(kSignalPoll);
    const std::size_t now = size_of(files_.stacks);
    if (now > before && now == seen) break;
    seen = now;
  }
  co_return telling_thread(parse_python_stacks(read_from(files_.stacks, before)));
}

/// Usually they are forked from the worker, and then they have its handler of the signal and its
/// file. They answer one after the other.
asio::awaitable<void> Inspector::look_at_data_loaders(pid_t pid, bool ask, WorkerFinding& finding) {
  const std::vector<ProcessFacts> tree = read_process_tree(pid);
  for (const ProcessFacts& process : tree) {
    if (process.parent != pid || finding.data_loaders.size() >= kDataLoadersMax) continue;
    WorkerFinding::Child child{process.pid, process.state, {}};
    if (ask && process.state != 'T' && process.state != 'D' && process.state != 'Z')
      child.frames = co_await stacks_by_signals(process.pid);
    finding.data_loaders.push_back(std::move(child));
  }
}

}  // namespace ddprun
