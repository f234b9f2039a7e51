#include "worker_sdk/elastic/standstill.hpp"

#include "tests/support/catch.hpp"

namespace ddprun::sdk {
namespace {

using namespace std::chrono_literals;

constexpr Standstill::TimePoint kBegin{};

TEST_CASE(
    "elastic: a worker that waits for a second, and no wait ends, is stuck; which is reported "
    "once") {
  const Waits waits{5, 4};
  Standstill standstill{waits, 5ms, kBegin};
  CHECK_FALSE(standstill.is_new(waits, 6ms, kBegin + 999ms));
  CHECK(standstill.is_new(waits, 6ms, kBegin + 1s));
  CHECK_FALSE(standstill.is_new(waits, 6ms, kBegin + 2s));
}

TEST_CASE("elastic: who comes to another wait is not stuck yet") {
  Standstill standstill{{5, 4}, 5ms, kBegin};
  CHECK_FALSE(standstill.is_new({6, 5}, 6ms, kBegin + 900ms));
  CHECK_FALSE(standstill.is_new({6, 5}, 6ms, kBegin + 1'899ms));
  CHECK(standstill.is_new({6, 5}, 6ms, kBegin + 1'900ms));
}

TEST_CASE("elastic: who computes in its backward pass is not stuck, however long it takes") {
  Standstill standstill{{5, 4}, 0ms, kBegin};
  CHECK_FALSE(standstill.is_new({5, 4}, 900ms, kBegin + 900ms));
  CHECK_FALSE(standstill.is_new({5, 4}, 1'800ms, kBegin + 1'800ms));
  CHECK(standstill.is_new({5, 4}, 1'805ms, kBegin + 2'800ms));
}

TEST_CASE("elastic: who waits for nobody is not stuck, however long it takes") {
  Standstill standstill{{5, 5}, 5ms, kBegin};
  CHECK_FALSE(standstill.is_new({5, 5}, 6ms, kBegin + 60s));
}

}  // namespace
}  // namespace ddprun::sdk
