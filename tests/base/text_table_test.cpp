#include "base/text_table.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("columns are as wide as they have to be, and numbers stand to the right") {
  TextTable table{"<><", {"NAME", "N", "WHY"}};
  table.add({{"ä"}, {"12"}, {"so"}});
  table.add({{"longer"}, {"7"}, {""}});
  CHECK(table.text() ==
        "NAME     N  WHY\n"
        "ä       12  so\n"
        "longer   7\n");
}

TEST_CASE("a table without headings has its rows only, each behind its lead") {
  TextTable table{"<"};
  table.add({{"a"}});
  CHECK(table.text(false, "  ") == "  a\n");
}

TEST_CASE("colours take no room") {
  TextTable table{"<<"};
  table.add({{"lost", kRed}, {"x"}});
  table.add({{"running"}, {"y"}});
  CHECK(table.text(true) == "\x1b[31mlost\x1b[0m     x\nrunning  y\n");
  CHECK(table.text(false) == "lost     x\nrunning  y\n");
}

}  // namespace
}  // namespace ddprun
