#include "agent/introspection/python_stack.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>

#include "base/numbers.hpp"

namespace ddprun {

namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// `  File "x.py", line 12 in load_batch`.
std::optional<Frame> parse_frame(std::string_view line) {
  constexpr std::string_view kFile = "  File \"";
  constexpr std::string_view kLine = "\", line ";
  constexpr std::string_view kIn = " in ";
  const std::size_t file = line.find(kFile);
  const std::size_t number = line.rfind(kLine);
  if (file != 0 || number == std::string_view::npos) return std::nullopt;
  const std::size_t digits = number + kLine.size();
  const std::size_t in = line.find(kIn, digits);
  if (in == std::string_view::npos) return std::nullopt;
  const auto parsed = parse_number<int>(line.substr(digits, in - digits));
  return Frame{std::string{line.substr(in + kIn.size())},
               std::string{line.substr(kFile.size(), number - kFile.size())}, parsed.value_or(0)};
}

bool is_thread(std::string_view line) {
  return line.starts_with("Thread 0x") || line.starts_with("Current thread 0x") ||
         line.starts_with("Stack (most recent call first)");  // one thread was asked for
}

bool in_file(const Frame& frame, std::string_view ending) {
  return std::string_view{frame.file}.ends_with(ending);
}

/// The functions of our hook that write the stacks, and wait for orders in a thread. They are no
/// part of the program.
bool is_of_hook(const Frame& frame) {
  return in_file(frame, "/sitecustomize.py") &&
         (frame.function == "tell_stacks" || frame.function == "wait_for_orders");
}

}  // namespace

std::vector<Frames> parse_python_stacks(std::string_view text) {
  std::vector<Frames> threads;
  bool in_thread = false;
  for (const std::string_view line : lines_of(text)) {
    if (is_thread(line)) {
      threads.emplace_back();
      in_thread = true;
    } else if (auto frame = parse_frame(line); frame && in_thread) {
      threads.back().push_back(std::move(*frame));
    }
  }
  for (Frames& frames : threads)
    std::erase_if(frames, [](const Frame& frame) { return is_of_hook(frame); });
  std::erase_if(threads, [](const Frames& frames) { return frames.empty(); });
  return threads;
}

ThreadWait thread_wait(const std::vector<Frames>& threads) {
  if (threads.empty() || threads.back().empty()) return ThreadWait::kNo;
  const Frames& main = threads.back();
  const Frame& outer = main.back();  // Python itself calls it
  if (outer.function == "_shutdown" && in_file(outer, "/threading.py")) return ThreadWait::kAtExit;
  for (const Frame& frame : main) {
    if (!in_file(frame, "/threading.py")) break;
    if (frame.function == "join") return ThreadWait::kJoin;
  }
  return ThreadWait::kNo;
}

Frames telling_thread(const std::vector<Frames>& threads) {
  if (threads.empty()) return {};
  const ThreadWait wait = thread_wait(threads);
  if (wait == ThreadWait::kNo) return threads.back();
  const auto is_of_user = [](const Frames& frames) {
    const Frame* const frame = user_frame(frames);
    return frame != nullptr && !is_library_file(frame->file);
  };
  const auto others = std::prev(threads.end());
  // The stacks do not tell which one of several it joins.
  if (wait == ThreadWait::kJoin && std::count_if(threads.begin(), others, is_of_user) > 1)
    return threads.back();
  const auto of_user = std::find_if(threads.begin(), others, is_of_user);
  return of_user == others ? threads.back() : *of_user;
}

std::optional<std::string> waits_for_others(const Frames& frames) {
  if (frames.empty()) return std::nullopt;
  const Frame& inner = frames.front();
  if (in_file(inner, "torch/distributed/rendezvous.py")) return "init_process_group";
  if (!in_file(inner, "torch/distributed/distributed_c10d.py")) return std::nullopt;
  for (const Frame& frame : frames)
    if (in_file(frame, "torch/distributed/distributed_c10d.py") &&
        (frame.function == "init_process_group" || frame.function == "new_group"))
      return frame.function;
  return inner.function;
}

bool waits_for_data_loader(const Frames& frames) {
  constexpr std::size_t kInner = 12;  // the queue, the pipe and the loader itself
  const auto inner = frames.begin() + static_cast<std::ptrdiff_t>(std::min(kInner, frames.size()));
  return std::any_of(frames.begin(), inner, [](const Frame& frame) {
    return in_file(frame, "torch/utils/data/dataloader.py");
  });
}

bool waits_for_work(const Frames& frames) {
  for (const Frame& frame : frames) {
    if (in_file(frame, "multiprocessing/queues.py") && frame.function == "get") return true;
    if (!is_library_file(frame.file)) return false;
  }
  return false;
}

std::string describe(const Frame& frame) {
  return frame.function + " (" + std::filesystem::path{frame.file}.filename().string() + ":" +
         std::to_string(frame.line) + ")";
}

}  // namespace ddprun
