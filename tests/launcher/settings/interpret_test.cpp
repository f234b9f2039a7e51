#include "launcher/settings/interpret.hpp"

#include "tests/launcher/local_system.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

LaunchSpec spec_of(const std::vector<std::string>& options) {
  const auto no_variable = [](const std::string&) { return std::nullopt; };
  std::vector<std::string> words = options;
  words.insert(words.end(), {"--no-python", "/bin/sh"});
  const auto arguments = parse_arguments(words, no_variable);
  REQUIRE(arguments.has_value());
  const auto launch = interpret(*arguments, local_system(no_variable, 1), {});
  if (!launch) FAIL(launch.error().message);
  return launch->spec;
}

TEST_CASE("workers have a terminal as ddprun has, unless somebody says whether they do") {
  CHECK(spec_of({}).pty == Pty::kAsOurs);
  CHECK(spec_of({"--pty"}).pty == Pty::kAlways);
  CHECK(spec_of({"--no-pty"}).pty == Pty::kNever);
}

TEST_CASE("options that matter to how a job runs are in its record, and names and files not") {
  using Options = std::map<std::string, std::string>;
  const Options always{{"no-python", "on"}};
  CHECK(spec_of({}).logs.record.options == always);
  CHECK(spec_of({"--max-restarts", "0", "--rdzv-id", "x", "--log-dir", "/tmp/x"})
            .logs.record.options == always);
  CHECK(spec_of({"--max-restarts", "2", "--fold"}).logs.record.options ==
        Options{{"fold", "on"}, {"max-restarts", "2"}, {"no-python", "on"}});
}

TEST_CASE("a run is recorded unless somebody says otherwise") {
  CHECK(spec_of({}).logs.record.wanted);
  CHECK_FALSE(spec_of({"--no-run-record"}).logs.record.wanted);
}

TEST_CASE("torchrun's block is left out on request, which changes nothing of the job") {
  CHECK(spec_of({}).logs.torchrun_block);
  const LaunchSpec spec = spec_of({"--no-torchrun-block"});
  CHECK_FALSE(spec.logs.torchrun_block);
  CHECK_FALSE(spec.logs.record.options.contains("no-torchrun-block"));
}

TEST_CASE("a folder for failures of nodes counts three strikes within a day") {
  const auto policy = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"--nnodes", "2"});
    return spec_of(std::move(words)).terms.node_policy;
  };
  CHECK(policy({}) == NodePolicy{.strikes = 0, .window_ms = kNodeWindowMs});
  CHECK(policy({"--node-history", "/shared"}) ==
        NodePolicy{.strikes = 3, .window_ms = kNodeWindowMs});
  CHECK(policy({"--node-strikes", "5", "--node-window", "2h"}) ==
        NodePolicy{.strikes = 5, .window_ms = 7'200'000});
  CHECK(policy({"--node-history", "/shared", "--node-strikes", "0"}).strikes == 0);
  CHECK(spec_of({"--nnodes", "2", "--node-history", "/shared"}).node.history == "/shared");
  const LaunchSpec alone = spec_of({"--node-history", "/shared"});
  CHECK(alone.node.history.empty());
  CHECK(alone.terms.node_policy == NodePolicy{});
}

}  // namespace
}  // namespace ddprun
