#include "launcher/run.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fstream>
#include <memory>
#include <utility>

#include "agent/agent.hpp"
#include "agent/failure_report.hpp"
#include "agent/usable_cpus.hpp"
#include "launcher/error_directory.hpp"
#include "launcher/exit_code.hpp"
#include "rendezvous/report_failure.hpp"
#include "rendezvous/server.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

/// What is left to say on open connections once the job is over takes no longer.
constexpr auto kGoodbyeTimeout = 2s;

std::string fresh_run_id() {
  std::ifstream uuid{"/proc/sys/kernel/random/uuid"};
  std::string id;
  std::getline(uuid, id);
  return id;
}

std::string host_name() {
  std::string name(256, '\0');
  gethostname(name.data(), name.size() - 1);
  name.resize(name.find('\0'));
  return name;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

void report(const AgentEnd& end, Console& err) {
  switch (end.why) {
    case AgentEnd::Why::kJobEnded:
      if (end.job.failure) err.write(failure_report(*end.job.failure, end.job.restarts + 1));
      if (end.job.outcome == EndJob::Outcome::kTimedOut) spdlog::error("{}", end.job.message);
      return;
    case AgentEnd::Why::kStopSignal:
      spdlog::warn("stopped by {}; no worker of this node is left", signal_name(end.signal));
      return;
    case AgentEnd::Why::kRefused:
      spdlog::error("the coordinator refused this node: {}", end.message);
      return;
    case AgentEnd::Why::kCoordinatorLost:
      spdlog::error("lost the coordinator: {}", end.message);
      return;
  }
}

/// One machine: nothing listens on a network.
Result<std::unique_ptr<Server>> host_coordinator(asio::io_context& io, LaunchSpec& spec) {
  const auto address = asio::ip::address_v4::loopback();
  spec.rules.master_addr = address.to_string();
  auto server = Server::listen(io.get_executor(), spec.rules, address, spec.coordinator.port);
  if (!server) return server;
  (*server)->start();
  spec.coordinator = {address.to_string(), (*server)->port()};
  return server;
}

}  // namespace

int run(asio::io_context& io, LaunchSpec spec, const EnvironmentLookup& environment, Console& out,
        Console& err) {
  auto errors = ErrorDirectory::make(environment("TMPDIR").value_or("/tmp"));
  if (!errors) {
    spdlog::error("{}", errors.error().message);
    return exit_code(errors.error());
  }
  spec.host = host_name();
  if (spec.run_id.empty()) spec.run_id = fresh_run_id();
  auto server = host_coordinator(io, spec);
  if (!server) {
    spdlog::error("{}", server.error().message);
    return exit_code(server.error());
  }
  Agent agent{io.get_executor(),
              std::move(spec),
              {own_environment(), usable_cpus(), errors->path()},
              {out, err}};
  AgentEnd end;
  co_spawn(io, agent.run(), [&](const std::exception_ptr& failure, AgentEnd how) {
    report_failure("the agent")(failure);
    end = std::move(how);
    (*server)->close();
  });
  while (!(*server)->closed()) io.run_one();
  io.run_for(kGoodbyeTimeout);
  report(end, err);
  if (end.job.failure && !end.job.failure->error_file.empty()) errors->keep();
  return exit_code(end);
}

}  // namespace ddprun
