#include "base/system/left_behind.hpp"

#include <chrono>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

TEST_CASE("tasks are done in their order, and one that fails ends alone") {
  LeftBehindQueue queue{8};
  const auto text = std::make_shared<std::string>();
  REQUIRE(queue.add([text] { *text += "a"; }).has_value());
  REQUIRE(queue.add([] { throw std::runtime_error{"as planned"}; }).has_value());
  REQUIRE(queue.add([text] { *text += "b"; }).has_value());
  REQUIRE(queue.done_within(60s));
  CHECK(*text == "ab");
  REQUIRE(queue.add([text] { *text += "c"; }).has_value());
  REQUIRE(queue.done_within(60s));
  CHECK(*text == "abc");
}

TEST_CASE("an answer is returned with its error, or there is none in time") {
  LeftBehindQueue queue{8};
  CHECK(queue.answer_within<int>(60s, [] { return Result<int>{3}; }).value() == 3);
  const auto refused = queue.answer_within<int>(60s, []() -> Result<int> {
    return Error{Error::Kind::kDenied, "not yours"};
  });
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message == "not yours");
  const auto gate = std::make_shared<std::binary_semaphore>(0);
  const auto silent = queue.answer_within<int>(1ms, [gate] {
    gate->acquire();
    return Result<int>{4};
  });
  gate->release();
  REQUIRE_FALSE(silent.has_value());
  CHECK(silent.error().kind == Error::Kind::kTimeout);
  CHECK(silent.error().message == "no answer within 0.001 s: is its disk or its server there?");
}

TEST_CASE("nobody waits for a task that hangs, and only that many wait behind it") {
  struct Gate {
    std::binary_semaphore entered{0}, opened{0};
  };
  const auto gate = std::make_shared<Gate>();
  {
    LeftBehindQueue queue{1};
    REQUIRE(queue
                .add([gate] {
                  gate->entered.release();
                  gate->opened.acquire();
                })
                .has_value());
    gate->entered.acquire();
    REQUIRE(queue.add([] {}).has_value());
    CHECK_FALSE(queue.add([] {}).has_value());
    CHECK_FALSE(queue.done_within(1ms));
  }  // the queue is gone, and its thread is not
  gate->opened.release();
}

}  // namespace
}  // namespace ddprun
