#include "base/numbers.hpp"

#include <cstdint>
#include <numeric>

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

TEST_CASE("ranks are read from a text, also from one that was cut") {
  CHECK(ranks_in("0,2-5") == RankList{0, 2, 3, 4, 5});
  CHECK(ranks_in("0,2-5,7…") == RankList{0, 2, 3, 4, 5});
  CHECK(ranks_in("").empty());
  CHECK(ranks_in("none").empty());
  CHECK(ranks_in("0-2147483646").empty());  // a peer's joke
}

TEST_CASE("lists of ranks are united, and parted") {
  CHECK(united("0,2", "1-3") == "0-3");
  CHECK(united(RankList{1, 3}, RankList{2, 3}) == RankList{1, 2, 3});
  CHECK(without(RankList{1, 2, 3}, RankList{2, 9}) == RankList{1, 3});
  CHECK(share_a_rank({1, 2}, {2}));
  CHECK_FALSE(share_a_rank({1, 2}, {3}));
}

TEST_CASE("of two values in the middle the larger one is the median") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 3);
  CHECK(median({}) == 0);
}

TEST_CASE("one rank is spoken of as one") {
  CHECK(ranks_text("1") == "rank 1");
  CHECK(ranks_text("0-3") == "ranks 0-3");
  CHECK(ranks_text("0,7") == "ranks 0,7");
}

}  // namespace
}  // namespace ddprun
