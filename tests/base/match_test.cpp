#include "base/match.hpp"

#include <memory>
#include <string>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("match calls the handler of the alternative that is held") {
  const auto told = [](const std::variant<int, std::string>& value) {
    return match(
        value,  //
        [](int number) { return "number " + std::to_string(number); },
        [](const std::string& text) { return "text " + text; });
  };
  CHECK(told(7) == "number 7");
  CHECK(told("x") == "text x");
}

TEST_CASE("match hands a variant's value on as it was given") {
  std::variant<std::unique_ptr<int>, int> value = std::make_unique<int>(7);
  match(
      value,  //
      [](std::unique_ptr<int>& held) { *held = 8; }, [](int&) { FAIL("it holds no number"); });
  const std::unique_ptr<int> taken = match(
      std::move(value),  //
      [](std::unique_ptr<int>&& held) { return std::move(held); },
      [](int&&) { return std::unique_ptr<int>{}; });
  REQUIRE(taken != nullptr);
  CHECK(*taken == 8);
}

}  // namespace
}  // namespace ddprun
