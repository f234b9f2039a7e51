#include "base/start_coroutine.hpp"

#include <new>
#include <stdexcept>

#include "tests/support/captured_log.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("an exception that leaves a coroutine leaves the event loop's run()") {
  const auto handler = report_failure("a test");
  CHECK_NOTHROW(handler(nullptr));
  const auto bug = std::make_exception_ptr(std::logic_error{"a bug"});
  CHECK_THROWS_WITH(handler(bug), "a bug");
}

TEST_CASE("an exception of one peer's coroutine is logged, once a second, and goes no further") {
  const CapturedLog log;
  const auto handler = give_up_peer("a peer");
  CHECK_NOTHROW(handler(nullptr));
  CHECK(log.text().empty());
  for (int i = 0; i < 10; ++i) CHECK_NOTHROW(handler(std::make_exception_ptr(std::bad_alloc{})));
  CHECK(log.text() == "error: a peer is served no more: std::bad_alloc\n");
}

}  // namespace
}  // namespace ddprun
