#include "base/process/process_facts.hpp"

#include <unistd.h>

#include <cstdint>
#include <sstream>

#include "base/system/whole_file.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kProcessesMax = 4096;
constexpr std::size_t kGenerationsMax = 64;  // no process is this many generations below another
                                             // one
/// One of the flags in /proc/PID/stat, which are those of include/linux/sched.h.
constexpr unsigned long kExiting = 0x4;

std::string folder_of(pid_t pid) { return "/proc/" + std::to_string(pid); }

/// The folders of the process's threads, as far as they can be read before it is gone.
std::vector<std::filesystem::path> threads_of(const std::string& process) {
  std::vector<std::filesystem::path> threads;
  std::error_code gone;
  std::filesystem::directory_iterator thread{"/proc/" + process + "/task", gone};
  for (; !gone && thread != std::filesystem::directory_iterator{}; thread.increment(gone))
    threads.push_back(thread->path());
  return threads;
}

/// Whether the signal is in that mask of the process (proc(5), /proc/PID/status).
bool is_in_mask(pid_t pid, std::string_view mask, int signal) {
  std::istringstream status{text_if_any(folder_of(pid) + "/status")};
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(mask)) continue;
    std::istringstream digits{line.substr(mask.size())};
    unsigned long long signals = 0;
    digits >> std::hex >> signals;
    return (signals >> (signal - 1) & 1) != 0;
  }
  return false;
}

}  // namespace

/// The name stands in parentheses, and may hold any character.
std::optional<ProcessFacts> parse_stat(std::string_view text, long ticks) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || ticks <= 0)
    return std::nullopt;
  ProcessFacts facts;
  facts.name = text.substr(open + 1, close - open - 1);
  std::istringstream pid{std::string{text.substr(0, open)}};
  std::istringstream rest{std::string{text.substr(close + 1)}};
  std::string skipped;
  if (!(pid >> facts.pid) || !(rest >> facts.state >> facts.parent)) return std::nullopt;
  for (int field = 5; field < 9; ++field) rest >> skipped;
  unsigned long flags = 0;
  rest >> flags;
  facts.exiting = (flags & kExiting) != 0;
  for (int field = 10; field < 12; ++field) rest >> skipped;
  rest >> facts.major_faults >> skipped;
  long long user = 0, system = 0, started = 0;
  if (!(rest >> user >> system)) return std::nullopt;
  for (int field = 16; field < 22; ++field) rest >> skipped;
  rest >> started;
  for (int field = 23; field < 39; ++field) rest >> skipped;
  rest >> facts.last_cpu;
  facts.cpu = std::chrono::milliseconds{(user + system) * 1000 / ticks};
  facts.started = std::chrono::milliseconds{started * 1000 / ticks};
  return facts;
}

/// The kernel lists them by the thread that started or adopted them.
std::vector<pid_t> listed_children(const std::string& process) {
  std::vector<pid_t> children;
  for (const auto& thread : threads_of(process)) {
    std::istringstream list{text_if_any(thread / "children")};
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

std::optional<ProcessFacts> read_process(pid_t pid) {
  static const long ticks = sysconf(_SC_CLK_TCK);
  return parse_stat(text_if_any(folder_of(pid) + "/stat"), ticks);
}

/// A main thread may end before the others, which go on.
bool is_ending(pid_t pid) {
  const auto main_thread = read_process(pid);
  if (!main_thread || !main_thread->exiting) return false;
  for (const auto& thread : threads_of(std::to_string(pid))) {
    const auto facts = parse_stat(text_if_any(thread / "stat"), 1);
    if (facts && !facts->exiting) return false;
  }
  return true;
}

std::vector<ProcessFacts> read_process_tree(pid_t pid) {
  std::vector<ProcessFacts> processes;
  std::vector<pid_t> to_read{pid};
  while (!to_read.empty() && processes.size() < kProcessesMax) {
    const pid_t next = to_read.back();
    to_read.pop_back();
    auto facts = read_process(next);
    if (!facts) continue;
    processes.push_back(std::move(*facts));
    for (const pid_t child : listed_children(std::to_string(next))) to_read.push_back(child);
  }
  return processes;
}

std::vector<pid_t> read_lineage(pid_t pid) {
  std::vector<pid_t> lineage;
  while (pid > 1 && lineage.size() < kGenerationsMax) {
    lineage.push_back(pid);
    const auto facts = read_process(pid);
    pid = facts ? facts->parent : 0;
  }
  return lineage;
}

std::vector<std::string> read_command_line(pid_t pid) {
  const std::string text = text_if_any(folder_of(pid) + "/cmdline");
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size(); begin += words.back().size() + 1)
    words.emplace_back(text.c_str() + begin);
  return words;
}

std::optional<ThreadTimes> parse_thread_times(const std::string& text) {
  std::istringstream numbers{text};
  std::int64_t ran_ns = 0;
  std::int64_t waited_ns = 0;
  if (!(numbers >> ran_ns >> waited_ns)) return std::nullopt;
  using std::chrono::microseconds;
  return ThreadTimes{microseconds{ran_ns / 1000}, microseconds{waited_ns / 1000}};
}

ThreadTimes read_main_thread_times(pid_t pid) {
  return parse_thread_times(text_if_any(folder_of(pid) + "/schedstat")).value_or(ThreadTimes{});
}

std::string read_wait_channel(pid_t pid) {
  std::string channel = text_if_any(folder_of(pid) + "/wchan");
  return channel == "0" ? "" : channel;
}

bool handles_signal(pid_t pid, int signal) { return is_in_mask(pid, "SigCgt:", signal); }

/// While a process is in sigwait(3), the kernel does not count the signal as blocked.
bool awaits_signal(pid_t pid, int signal) {
  return is_in_mask(pid, "SigBlk:", signal) ||
         read_wait_channel(pid).find("sigtimedwait") != std::string::npos;
}

bool ignores_signal(pid_t pid, int signal) { return is_in_mask(pid, "SigIgn:", signal); }

}  // namespace ddprun
