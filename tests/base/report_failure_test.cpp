#include "base/report_failure.hpp"

#include <stdexcept>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("an exception that leaves a coroutine goes on to whoever runs the event loop") {
  const auto handler = report_failure("a test");
  CHECK_NOTHROW(handler(nullptr));
  const auto bug = std::make_exception_ptr(std::logic_error{"a bug"});
  CHECK_THROWS_WITH(handler(bug), "a bug");
}

}  // namespace
}  // namespace ddprun
