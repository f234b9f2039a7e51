#include "base/parse_number.hpp"

#include <cstdint>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("a text that is a decimal number and nothing else is that number") {
  CHECK(parse_number<int>("0") == 0);
  CHECK(parse_number<int>("-17") == -17);
  CHECK(parse_number<int>("007") == 7);
  CHECK(parse_number<double>("0.5") == 0.5);
}

TEST_CASE("a text with anything before or behind the number is no number") {
  for (const char* text : {"", " 1", "1 ", "+1", "1s", "1.5", "0x10", "-", "one"}) {
    INFO("'" << text << "'");
    CHECK_FALSE(parse_number<int>(text).has_value());
  }
}

TEST_CASE("a number is refused as soon as it does not fit into its type") {
  CHECK(parse_number<std::uint16_t>("65535") == 65'535);
  CHECK_FALSE(parse_number<std::uint16_t>("65536").has_value());
  CHECK_FALSE(parse_number<std::uint16_t>("-1").has_value());
  CHECK(parse_number<std::int64_t>("9223372036854775807") == INT64_MAX);
  CHECK_FALSE(parse_number<std::int64_t>("9223372036854775808").has_value());
  CHECK(parse_number<std::int64_t>("-9223372036854775808") == INT64_MIN);
}

}  // namespace
}  // namespace ddprun
