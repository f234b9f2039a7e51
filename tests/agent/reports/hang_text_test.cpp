#include "agent/reports/hang_text.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Lines = std::vector<std::string>;

HangReport report() {
  return {.sentence = "rank 1 has not reached gloo:all_reduce",
          .operation = "gloo:all_reduce",
          .missing_ranks = "1",
          .waiting_ranks = "0,2",
          .stacks = {{.ranks = "1",
                      .doing = "sleeps at load (t.py:12)",
                      .stack = "select\t/usr/lib/python3.11/selectors.py\t415\n"
                               "load\t/me/t.py\t12\n<module>\t/me/t.py\t30"},
                     {.ranks = "0,2", .doing = "waits in gloo:all_reduce", .stack = "main\t\t0"}}};
}

TEST_CASE("a hang is shown with the missing ranks and their stacks") {
  CHECK(hang_lines(report()) == Lines{"the workers hang: rank 1 has not reached gloo:all_reduce",
                                      "  [1] sleeps at load (t.py:12)",
                                      "      select  /usr/lib/python3.11/selectors.py:415",
                                      "      load  /me/t.py:12", "      <module>  /me/t.py:30",
                                      "  [0,2] waits in gloo:all_reduce", "      main"});
}

TEST_CASE("of waiting workers the user's frames are shown, and how many callers are left out") {
  HangReport hang = report();
  hang.stacks[1].stack =
      "wait\t/usr/lib/python3.11/site-packages/torch/distributed/x.py\t1\n"
      "a\t/me/t.py\t1\nb\t/me/t.py\t2\nc\t/me/t.py\t3\nd\t/me/t.py\t4\ne\t/me/t.py\t5";
  const Lines lines = hang_lines(hang);
  CHECK(Lines{lines.end() - 3, lines.end()} == Lines{"      a  /me/t.py:1", "      b  /me/t.py:2",
                                                     "      c  /me/t.py:3  (and 2 callers)"});
}

TEST_CASE("a hang of many stacks is shown in 24 lines") {
  HangReport many = report();
  many.stacks.resize(kStackGroupsMax, many.stacks.front());
  const Lines lines = hang_lines(many);
  CHECK(lines.size() <= 24);
  CHECK(lines.back() == "  and 5 other stacks");
}

}  // namespace
}  // namespace ddprun
