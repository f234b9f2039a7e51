// ddprun: reads the command line, runs the job, exits with its code.

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "agent/console.hpp"
#include "launcher/command_line.hpp"
#include "launcher/exit_code.hpp"
#include "launcher/log.hpp"
#include "launcher/run.hpp"
#include "rendezvous/match.hpp"

namespace {

using namespace ddprun;

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>{value} : std::nullopt;
}

int run_command_line(const std::vector<std::string>& arguments, boost::asio::io_context& io,
                     Console& out, Console& err) {
  auto parsed = parse_command_line(arguments, environment);
  if (!parsed) {
    const bool usage = parsed.error().kind == Error::Kind::kInvalid;
    spdlog::error("{}{}", parsed.error().message, usage ? " (see ddprun --help)" : "");
    return exit_code(parsed.error());
  }
  return match(
      std::move(*parsed),
      [&](JustPrint&& print) {
        out.write(print.text);
        return 0;
      },
      [&](LaunchSpec&& spec) { return run(io, std::move(spec), environment, out, err); });
}

}  // namespace

int main(int argc, char** argv) try {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is an error of write()
  boost::asio::io_context io{1};
  Console out{io.get_executor(), STDOUT_FILENO};
  Console err{io.get_executor(), STDERR_FILENO};
  set_up_log(err, environment("LOGLEVEL"));
  const int code = run_command_line({argv + 1, argv + argc}, io, out, err);
  out.flush_blocking();
  err.flush_blocking();
  return code;
} catch (const std::exception& e) {
  std::fprintf(stderr, "ddprun: internal error: %s\n", e.what());
  return ddprun::kInternalError;
}
