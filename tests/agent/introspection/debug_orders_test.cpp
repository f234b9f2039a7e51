#include "agent/introspection/debug_orders.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("an order has a file of its kind, and says in it what is wanted") {
  CHECK(kind_of(OpenDebugger{"/run/s", 5678}) == "debug");
  CHECK(text_of(OpenDebugger{"/run/s", 5678}) ==
        "{\"port\":5678,\"socket\":\"/run/s\",\"type\":\"debug\"}\n");
  CHECK(kind_of(InterruptDebugged{}) == "interrupt");
  CHECK(kind_of(LeaveDebugger{}) == "leave");
  CHECK(kind_of(GroupTimeouts{true}) == "timeouts");
  CHECK(text_of(GroupTimeouts{true}) == "{\"extended\":true,\"type\":\"timeouts\"}\n");
}

TEST_CASE("a worker that waits for a debugger says where and why") {
  const auto wait = read_wait(R"({"at": "train.py:31", "why": "breakpoint(), at most 600 s"})");
  REQUIRE(wait);
  CHECK(*wait == DebuggedRank{-1, true, "train.py:31", "breakpoint(), at most 600 s"});
}

TEST_CASE("a file that is no wait, or lacks something, does no harm") {
  CHECK_FALSE(read_wait(""));
  CHECK_FALSE(read_wait("[]"));
  CHECK_FALSE(read_wait("{\"at\""));
  CHECK(read_wait("{\"at\": 7}") == DebuggedRank{-1, true, "", ""});
}

}  // namespace
}  // namespace ddprun
