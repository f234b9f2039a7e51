#include "ddprun/checkpoint_request.hpp"

#include <csignal>
#include <cstdlib>

#include "ddprun/worker_env.hpp"
#include "tests/support/catch.hpp"

namespace ddprun::sdk {
namespace {

/// Sets the variable for one test.
class Told {
 public:
  explicit Told(const std::string& value) { setenv(env::kCheckpointSignal, value.c_str(), 1); }
  ~Told() { unsetenv(env::kCheckpointSignal); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
};

TEST_CASE("the signal is the one that ddprun has named") {
  CHECK(checkpoint_signal() == SIGUSR1);
  {
    const Told told{std::to_string(SIGRTMAX)};
    CHECK(checkpoint_signal() == SIGRTMAX);
  }
  const Told nothing{""};
  CHECK(checkpoint_signal() == SIGUSR1);
}

TEST_CASE("a variable that holds no signal is an error that names it") {
  for (const char* text : {"0", "-1", "65", "SIGUSR1", "10 ", "10x"}) {
    const Told told{text};
    CHECK_THROWS_AS(checkpoint_signal(), EnvironmentError);
  }
  const Told told{"x"};
  CHECK_THROWS_WITH(checkpoint_signal(),
                    "DDPRUN_CHECKPOINT_SIGNAL is 'x', expected the number of a signal");
}

TEST_CASE("a request is noticed once the signal has come") {
  const Told told{std::to_string(SIGUSR2)};
  const CheckpointRequest request;
  CHECK_FALSE(request.requested());
  CHECK(raise(SIGUSR2) == 0);
  CHECK(request.requested());
  std::signal(SIGUSR2, SIG_DFL);
}

}  // namespace
}  // namespace ddprun::sdk
