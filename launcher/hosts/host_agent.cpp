#include "launcher/hosts/host_agent.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "agent/output/console.hpp"
#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/system/own_process.hpp"
#include "launcher/hosts/host_messages.hpp"
#include "launcher/run/exit_code.hpp"
#include "launcher/run/log.hpp"
#include "launcher/run/own_address.hpp"
#include "launcher/run/run.hpp"
#include "launcher/settings/this_machine.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;
using asio::as_tuple;
using asio::use_awaitable;

/// The launcher first waits for the leader's coordinator, so a start may be long in coming.
constexpr auto kStartTimeout = 5min;

/// Settings come with the command line from the launcher's machine, so variables for them that a
/// login sets here do not count.
std::optional<std::string> environment_here(const std::string& name) {
  return name.starts_with("PET_") ? std::nullopt : own_variable(name);
}

Console::Framing framed_as(HostOutput::Stream stream) {
  return [stream](std::string_view bytes, bool message) {
    return encode(
        FromHost{HostOutput{message ? HostOutput::Stream::kNote : stream, std::string{bytes}}});
  };
}

/// On the launcher's own machine the name of the host takes its place.
std::string own_address() { return address_of_login(environment_here).value_or(host_name()); }

Result<void> settle(const HostStart& start) {
  for (const auto& [name, value] : start.environment) setenv(name.c_str(), value.c_str(), 1);
  if (start.directory.empty() || chdir(start.directory.c_str()) == 0) return {};
  return Error{Error::Kind::kUnavailable, "cannot work in '" + start.directory +
                                              "' on this host: " + std::strerror(errno) +
                                              " (--remote-dir names another directory)"};
}

Result<HostPlace> place_of(const HostStart& start) {
  std::optional<Secret> secret;
  if (!start.secret.empty()) {
    const auto parsed = parse_secret(start.secret);
    if (!parsed)
      return Error{parsed.error().kind, "the launcher's secret: " + parsed.error().message};
    secret = *parsed;
  }
  return HostPlace{.run_id = start.run_id,
                   .nodes_min = start.nodes_min,
                   .nodes_max = start.nodes_max,
                   .node_rank = start.node_rank,
                   .leads = start.leads,
                   .coordinator = {start.host, start.port},
                   .own_address = own_address(),
                   .secret = secret};
}

class HostAgent {
 public:
  HostAgent(const CommandContext& context, ParseLaunch parse)
      : parse_{parse},
        io_{context.io},
        wire_{context.out},
        out_{wire_, framed_as(HostOutput::Stream::kOut)},
        err_{wire_, framed_as(HostOutput::Stream::kErr)},
        control_{context.io} {}

  /// Orders of the launcher come from the descriptor `control`. Errors: kInvalid, when its input
  /// cannot be waited for, as with a file.
  Result<void> listen_to(int control) {
    boost::system::error_code error;
    if (control < 0)
      error = {errno, boost::system::system_category()};
    else
      control_.assign(control, error);
    if (!error) return {};
    return Error{Error::Kind::kInvalid,
                 "ddprun agent is started by ddprun --hosts, over ssh (standard input: " +
                     error.message() + ")"};
  }

  /// Returns the exit code, which the launcher has got.
  int run() {
    set_up_log(err_, std::nullopt);
    say(HostHello{kHostProtocol, DDPRUN_VERSION});
    const std::optional<HostStart> start = wait_for_start();
    if (!start) return 0;  // nothing has begun
    const auto code = run_job(*start);
    if (!code) log::error("{}", code.error().message);
    end_.code = code ? *code : exit_code(code.error());
    say(end_);
    return end_.code;
  }

 private:
  void say(const FromHost& message) { wire_.write(encode(message)); }

  void say_report(const JobReport& report) {
    std::string text = to_json(report);
    if (text.size() <= kOutputBytesMax)
      return say(HostOutput{HostOutput::Stream::kReport, std::move(text)});
    log::warn("the report of the job has {} bytes, expected {} at most: it is not sent",
              text.size(), kOutputBytesMax);
  }

  /// Returns nullopt when the launcher has gone, or has said nothing in time.
  std::optional<HostStart> wait_for_start() {
    std::optional<HostStart> start;
    bool heard = false;
    const auto hear = [&](Result<ToHost> order) {
      heard = true;
      if (order && std::holds_alternative<HostStart>(*order))
        start = std::get<HostStart>(std::move(*order));
    };
    start_coroutine(io_, then(read_order(), hear), report_failure("waiting for the launcher"));
    const auto deadline = std::chrono::steady_clock::now() + kStartTimeout;
    while (!heard && io_.run_one_until(deadline) > 0) continue;
    if (!heard) control_.close();
    while (!heard) io_.run_one();
    io_.restart();
    return start;
  }

  Result<int> run_job(const HostStart& start) {
    if (const auto settled = settle(start); !settled) return settled.error();
    set_up_log(err_, environment_here("LOGLEVEL"));
    const auto place = place_of(start);
    if (!place) return place.error();
    const auto job = parse_(start.arguments, this_machine(environment_here), *place);
    if (!job) return job.error();
    for (const std::string& warning : job->warnings) log::warn("{}", warning);
    const std::vector<int>& stops = job->spec.stop_signals;
    stop_signal_ = std::ranges::count(stops, SIGTERM) > 0 ? SIGTERM : stops.front();
    start_coroutine(io_, follow_orders(), report_failure("listening to the launcher"));
    const RunEvents events{[&](const Endpoint& at) {
                             const bool named = !at.host.empty();
                             say(HostListening{named ? at.host : own_address(), at.port});
                           },
                           [&](const AgentEnd& end) {
                             end_.began = true;
                             end_.verdict = end.why == AgentEnd::Why::kJobEnded;
                             control_.close();
                           },
                           [&](const JobReport& report) {
                             if (start.reports) say_report(report);
                           }};
    auto code = ddprun::run(io_, job->spec, environment_here, out_, err_, events);
    control_.close();
    return code;
  }

  asio::awaitable<Result<ToHost>> read_order() {
    auto buffer = asio::dynamic_buffer(inbox_, kHostLineBytesMax);
    const auto [error, bytes] =
        co_await asio::async_read_until(control_, buffer, '\n', as_tuple(use_awaitable));
    if (error) co_return Error{Error::Kind::kUnavailable, error.message()};
    auto order = decode_to_host(std::string_view{inbox_}.substr(0, bytes));
    inbox_.erase(0, bytes);
    co_return order;
  }

  /// Sends the signals of the launcher to this process, so that they mean what they mean to any
  /// ddprun.
  asio::awaitable<void> follow_orders() {
    for (;;) {
      const Result<ToHost> order = co_await read_order();
      if (!control_.is_open()) co_return;
      if (!order) break;
      if (const auto* signal = std::get_if<HostSignal>(&*order);
          signal != nullptr && signal->signal > 0 && signal->signal < NSIG)
        kill(getpid(), signal->signal);
    }
    log::warn("the connection to the launcher has ended");
    kill(getpid(), stop_signal_);
  }

  ParseLaunch parse_;
  boost::asio::io_context& io_;
  Console& wire_;
  Console out_;
  Console err_;
  asio::posix::stream_descriptor control_;
  std::string inbox_;
  HostEnded end_;
  int stop_signal_ = SIGTERM;
};

/// Takes standard input for ourselves, and leaves /dev/null to workers in its place. Returns the
/// descriptor, or -1 and errno.
int take_standard_input() {
  const int control = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) return -1;
  dup2(null, STDIN_FILENO);
  close(null);
  return control;
}

}  // namespace

Result<int> run_host_agent(const std::vector<std::string>& words, const CommandContext& context,
                           ParseLaunch parse) {
  if (!words.empty())
    return Error{Error::Kind::kInvalid,
                 "ddprun agent takes no arguments: ddprun --hosts starts it"};
  HostAgent agent{context, parse};
  if (const auto listening = agent.listen_to(take_standard_input()); !listening)
    return listening.error();
  const int code = agent.run();
  set_up_log(context.err, std::nullopt);  // the agent's console has ended
  return code;
}

}  // namespace ddprun
