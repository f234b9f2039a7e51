#include "agent/reports/hang_text.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Lines = std::vector<std::string>;

HangReport report() {
  return {.sentence = "rank 1 has not come to gloo:all_reduce",
          .operation = "gloo:all_reduce",
          .missing_ranks = "1",
          .waiting_ranks = "0,2",
          .stacks = {{.ranks = "1",
                      .doing = "sleeps at load (t.py:12)",
                      .stack = "select\t/usr/lib/python3.11/selectors.py\t415\n"
                               "load\t/me/t.py\t12\n<module>\t/me/t.py\t30"},
                     {.ranks = "0,2", .doing = "waits in gloo:all_reduce", .stack = "main\t\t0"}}};
}

TEST_CASE("a hang is told with those who are missing and their stacks") {
  CHECK(hang_lines(report()) == Lines{"the workers hang: rank 1 has not come to gloo:all_reduce",
                                      "  [1] sleeps at load (t.py:12)",
                                      "      select  /usr/lib/python3.11/selectors.py:415",
                                      "      load  /me/t.py:12", "      <module>  /me/t.py:30",
                                      "  [0,2] waits in gloo:all_reduce", "      main"});
}

TEST_CASE("a hang of many stacks is told in 24 lines") {
  HangReport many = report();
  many.stacks.resize(kStackGroupsMax, many.stacks.front());
  const Lines lines = hang_lines(many);
  CHECK(lines.size() <= 24);
  CHECK(lines.back() == "  and 6 other stacks");
}

}  // namespace
}  // namespace ddprun
