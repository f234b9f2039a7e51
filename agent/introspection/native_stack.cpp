#include "agent/introspection/native_stack.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <csignal>
#include <optional>
#include <sstream>

#include "agent/introspection/python_stack.hpp"
#include "base/parse_number.hpp"

namespace ddprun {

namespace {

using namespace asio::experimental::awaitable_operators;

constexpr char kProgram[] = "/usr/bin/eu-stack";
constexpr std::chrono::milliseconds kPatience{500};
constexpr std::size_t kTextMax = 64 * 1024;
constexpr std::size_t kStackMax = 2900;

struct Running {
  pid_t pid;
  int out;  // a descriptor that reads what it writes
};

/// Starts it without a search for debug information in the network.
std::optional<Running> start(pid_t pid) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string number = std::to_string(pid);
  std::string words[] = {kProgram, "-1", "-s", "-p"};
  char* const argv[] = {words[0].data(), words[1].data(), words[2].data(),
                        words[3].data(), number.data(),   nullptr};
  std::string nowhere = "DEBUGINFOD_URLS=";
  char* const environment[] = {nowhere.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, kProgram, &actions, nullptr, argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed == 0) return Running{child, ends[0]};
  close(ends[0]);
  return std::nullopt;
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

/// Nobody waits for the process: the agent reaps all children that it does not know.
asio::awaitable<std::string> native_stack(pid_t pid) {
  const auto running = start(pid);
  if (!running) co_return "";
  const auto executor = co_await asio::this_coro::executor;
  asio::posix::stream_descriptor out{executor, running->out};
  asio::steady_timer deadline{executor, kPatience};
  std::string text;
  auto all = asio::async_read(out, asio::dynamic_buffer(text, kTextMax),
                              asio::as_tuple(asio::use_awaitable));
  auto late = deadline.async_wait(asio::use_awaitable);
  const auto first = co_await (std::move(all) || std::move(late));
  if (first.index() == 1) kill(running->pid, SIGKILL);
  co_return first.index() == 1 ? "" : parse_native_stack(text);
}

}  // namespace ddprun
