#include "launcher/run/run_services.hpp"

#include <boost/asio/io_context.hpp>
#include <filesystem>

#include "tests/support/event_loop.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

TEST_CASE(
    "what a run offers its workers is in its facts, and nothing is left when it has stopped") {
  const ScratchFolder scratch;
  std::filesystem::permissions(scratch.path(), std::filesystem::perms::owner_all);
  const EnvironmentLookup environment = [&](const std::string& name) {
    const bool is_folder = name == "XDG_RUNTIME_DIR" || name == "TMPDIR";
    return is_folder ? std::optional{scratch.path().string()} : std::nullopt;
  };
  asio::io_context io;
  LaunchSpec spec;
  spec.introspection.on = GENERATE(true, false);
  const RunEvents events;
  OwnCoordinator coordinator{io, spec, events, {}};
  PublishedJob job{io.get_executor(), spec, environment, coordinator};
  WorkerServices services{io.get_executor(), spec, environment, job};
  NodeFacts node;
  REQUIRE(job.prepare(node).has_value());
  REQUIRE(services.prepare(node).has_value());
  CHECK(node.paths.watch_folder.empty() != spec.introspection.on);
  CHECK(node.endpoints.control.empty() != spec.introspection.on);
  CHECK(node.endpoints.trainer_url.empty() != spec.introspection.on);
  CHECK(node.endpoints.timer_pipe.empty());
  services.stop();
  job.stop();
  io.run_for(kTestPatience);
  CHECK(io.stopped());
}

}  // namespace
}  // namespace ddprun
