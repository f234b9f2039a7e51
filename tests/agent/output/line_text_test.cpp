#include "agent/output/line_text.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("a prefix comes before every line, and a progress bar's redrawing") {
  CHECK(with_prefix("a\nb\n", "p:", true) == "p:a\np:b\n");
  CHECK(with_prefix("rest\nb", "p:", false) == "rest\np:b");
  CHECK(with_prefix("10%\r20%\r", "p:", true) == "p:10%\rp:20%\r");
  CHECK(with_prefix("dos\r\nline\r\n", "p:", true) == "p:dos\r\np:line\r\n");
  CHECK(with_prefix("", "p:", true).empty());
}

TEST_CASE("filters pick whole lines") {
  CHECK(matching_lines("one apple\ntwo\nbad apple", "p:", {"apple", "zoo"}) ==
        "p:one apple\np:bad apple\n");
  CHECK(matching_lines("", "p:", {"a"}).empty());
}

}  // namespace
}  // namespace ddprun
