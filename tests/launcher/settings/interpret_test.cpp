#include "launcher/settings/interpret.hpp"

#include "tests/launcher/surroundings.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

LaunchSpec spec_of(const std::vector<std::string>& options) {
  const auto no_variable = [](const std::string&) { return std::nullopt; };
  std::vector<std::string> words = options;
  words.insert(words.end(), {"--no-python", "/bin/sh"});
  const auto arguments = parse_arguments(words, no_variable);
  REQUIRE(arguments.has_value());
  const auto launch = interpret(*arguments, surroundings(no_variable, 1), {});
  if (!launch) FAIL(launch.error().message);
  return launch->spec;
}

TEST_CASE("workers have a terminal as ddprun has, unless somebody says whether they do") {
  CHECK(spec_of({}).pty == Pty::kAsOurs);
  CHECK(spec_of({"--pty"}).pty == Pty::kAlways);
  CHECK(spec_of({"--no-pty"}).pty == Pty::kNever);
}

}  // namespace
}  // namespace ddprun
