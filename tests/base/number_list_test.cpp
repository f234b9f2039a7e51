#include "base/number_list.hpp"

#include <numeric>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Ids = std::vector<int>;

TEST_CASE("a list of CPUs is read as the kernel writes it") {
  CHECK(parse_cpu_list("0-3,8,10-11").value() == Ids{0, 1, 2, 3, 8, 10, 11});
  CHECK(parse_cpu_list("7\n").value() == Ids{7});
  CHECK(parse_cpu_list("5,1-2,2").value() == Ids{1, 2, 5});
  CHECK(parse_cpu_list("").value().empty());
  CHECK(parse_cpu_list("\n").value().empty());  // a node that is only memory
  CHECK(parse_cpu_list("8191").value() == Ids{8191});
}

TEST_CASE("nonsense is no list of CPUs") {
  for (const auto* text : {"a", "0-", "-1", "3-1", "0,,1", "0,", ",", "0-3-5", "0 1", "0x1", "8192",
                           "0-2147483647", "99999999999", "0-10:2/4"}) {
    INFO(text);
    const auto cpus = parse_cpu_list(text);
    REQUIRE_FALSE(cpus.has_value());
    CHECK_THAT(cpus.error().message, contains(text));
  }
}

TEST_CASE("a list of CPUs is written as the kernel reads it") {
  CHECK(format_number_list({}).empty());
  CHECK(format_number_list({4}) == "4");
  CHECK(format_number_list({0, 1, 2, 3, 8, 10, 11}) == "0-3,8,10-11");
  Ids many(100);
  std::iota(many.begin(), many.end(), 0);
  CHECK(parse_cpu_list(format_number_list(many)).value() == many);
}

}  // namespace
}  // namespace ddprun
