#include "base/printable.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("printable text stays as it is, in quotes") {
  CHECK(printable("") == "''");
  CHECK(printable("GET /a b~") == "'GET /a b~'");
}

TEST_CASE("every other byte is written as its number") {
  CHECK(printable("\r\n\t") == "'\\x0d\\x0a\\x09'");
  CHECK(printable(std::string{"\x00\x1f\x7f\x80\xff", 5}) == "'\\x00\\x1f\\x7f\\x80\\xff'");
}

TEST_CASE("64 bytes are shown, and what is longer is cut") {
  const std::string longest(64, 'x');
  CHECK(printable(longest) == "'" + longest + "'");
  CHECK(printable(longest + "y") == "'" + longest + "…'");
}

}  // namespace
}  // namespace ddprun
