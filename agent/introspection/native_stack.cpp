#include "agent/introspection/native_stack.hpp"

#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <csignal>
#include <optional>
#include <sstream>
#include <vector>

#include "agent/introspection/python_stack.hpp"
#include "base/coroutines.hpp"
#include "base/numbers.hpp"
#include "base/process/query_process.hpp"

namespace ddprun {

namespace {

constexpr char kEuStack[] = "/usr/bin/eu-stack";
constexpr char kGdb[] = "/usr/bin/gdb";
constexpr std::chrono::milliseconds kEndPatience{300};  // to let go of the process
constexpr std::size_t kTextMax = 64 * 1024;
constexpr std::size_t kStackMax = 2900;

/// gdb is to read no file of the user's, and to run nothing that a library brings along.
std::vector<std::string> words_of(StackTool tool, pid_t pid) {
  const std::string number = std::to_string(pid);
  if (tool == StackTool::kEuStack) return {kEuStack, "-1", "-s", "-p", number};
  return {kGdb,    "-p",
          number,  "-nx",
          "-iex",  "set auto-load no",
          "-ex",   "set print frame-arguments none",
          "-ex",   "thread apply 1 bt 64",
          "-batch"};
}

/// Reads what it writes; true: to its end. Otherwise that takes longer than `patience`, or it is
/// more than anybody wants to know.
asio::awaitable<bool> read_all(asio::posix::stream_descriptor& out, std::string& text,
                               std::chrono::milliseconds patience) {
  auto all = asio::async_read(out, asio::dynamic_buffer(text, kTextMax),
                              asio::as_tuple(asio::use_awaitable));
  const auto read = co_await in_time(Clock::now() + patience, std::move(all));
  co_return read.has_value() && std::get<0>(*read) == asio::error::eof;
}

/// Ends a tool that has the process `pid` stopped by a SIGSTOP. A stop that it has not noticed
/// would take effect as soon as the tool is gone: a SIGCONT takes that back. A SIGTERM would not
/// do: a gdb that is just attaching takes the process for one that it has started, and kills it.
/// When it is killed itself, the kernel lets the process go.
asio::awaitable<void> end_tool(const QueryProcess& tool, asio::posix::stream_descriptor& out,
                               pid_t pid) {
  std::string ignored;
  tool.kill();
  co_await read_all(out, ignored, kEndPatience);
  kill(pid, SIGCONT);
}

/// "#1  0x00007f main" names the function main.
std::string function_in(const std::string& line) {
  std::istringstream words{line};
  std::string number;
  std::string address;
  std::string function;
  words >> number >> address;
  std::getline(words >> std::ws, function);
  const std::size_t version = function.find('@');
  return function.substr(0, version);
}

/// "    /src/train.cpp:12:3".
void add_place(const std::string& line, Frame& frame) {
  const std::size_t begin = line.find_first_not_of(' ');
  const std::size_t column = line.rfind(':');
  if (begin == std::string::npos || column == std::string::npos || column == 0) return;
  const std::size_t number = line.rfind(':', column - 1);
  if (number == std::string::npos || number < begin) return;
  frame.file = line.substr(begin, number - begin);
  frame.line =
      parse_number<int>(std::string_view{line}.substr(number + 1, column - number - 1)).value_or(0);
}

/// What gdb says of a frame behind its number and its address.
std::string behind_address(const std::string& line) {
  std::size_t begin = line.find_first_not_of("0123456789", 1);
  if (begin != std::string::npos) begin = line.find_first_not_of(' ', begin);
  if (begin == std::string::npos) return "";
  std::string rest = line.substr(begin);
  if (!rest.starts_with("0x")) return rest;
  const std::size_t in = rest.find(" in ");
  return in == std::string::npos ? "" : rest.substr(in + 4);
}

/// "#1  0x00007f in load (n=...) at /src/train.cpp:12".
Frame gdb_frame(const std::string& line) {
  std::string rest = behind_address(line);
  Frame frame;
  const std::size_t at = rest.rfind(" at ");
  const std::size_t colon = rest.rfind(':');
  if (at != std::string::npos && colon != std::string::npos && colon > at) {
    frame.file = rest.substr(at + 4, colon - at - 4);
    frame.line = parse_number<int>(std::string_view{rest}.substr(colon + 1)).value_or(0);
    rest.resize(at);
  }
  if (const std::size_t arguments = rest.rfind(" ("); arguments != std::string::npos)
    rest.resize(arguments);
  frame.function = rest.empty() || rest == "??" ? "?" : rest;
  return frame;
}

}  // namespace

std::string parse_native_stack(std::string_view text) {
  Frames frames;
  std::istringstream lines{std::string{text}};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) {
      std::string function = function_in(line);
      frames.push_back({function.empty() ? "?" : std::move(function), "", 0});
    } else if (line.starts_with("    ") && !frames.empty()) {
      add_place(line, frames.back());
    }
  }
  return stack_text(frames, kStackMax);
}

std::string parse_gdb_stack(std::string_view text) {
  Frames frames;
  bool main_thread = false;
  std::istringstream lines{std::string{text}};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Thread ")) main_thread = line.starts_with("Thread 1 ");
    if (main_thread && line.starts_with('#')) frames.push_back(gdb_frame(line));
  }
  return stack_text(frames, kStackMax);
}

std::optional<StackTool> installed_stack_tool() {
  if (access(kEuStack, X_OK) == 0) return StackTool::kEuStack;
  if (access(kGdb, X_OK) == 0) return StackTool::kGdb;
  return std::nullopt;
}

asio::awaitable<std::string> native_stack(pid_t pid, StackTool tool,
                                          std::chrono::milliseconds patience) {
  // Without a search for debug information in the network.
  const std::vector<std::string> variables{"DEBUGINFOD_URLS=", "LC_ALL=C"};
  QueryProcess running =
      QueryProcess::run(patience, words_of(tool, pid), {.environment = variables});
  if (!running.started()) co_return "";
  const auto executor = co_await asio::this_coro::executor;
  asio::posix::stream_descriptor out{executor, running.release_pipe()};
  std::string text;
  const bool ended = co_await read_all(out, text, patience);
  if (!ended) co_await end_tool(running, out, pid);
  running.leave();
  co_return tool == StackTool::kGdb ? parse_gdb_stack(text) : parse_native_stack(text);
}

}  // namespace ddprun
