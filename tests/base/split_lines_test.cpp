#include "base/split_lines.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE("a text has its lines, of which the last one may have no end") {
  CHECK(split_lines("").empty());
  CHECK(split_lines("a\n\nb") == Lines{"a", "", "b"});
  CHECK(split_lines("a\n") == Lines{"a"});
}

}  // namespace
}  // namespace ddprun
