#include "agent/reports/hang_text.hpp"

#include <nlohmann/json.hpp>

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

using nlohmann::json;

const JobDump kDump{
    .state = "running",
    .round = 2,
    .world_size = 4,
    .nodes = 2,
    .took_ms = 31,
    .waits = {{"gloo:all_reduce", "0 (default_pg)", 13, "0,2", "1"}},
    .stacks = {{.ranks = "1",
                .doing = "sleeps at load_batch (train.py:7)",
                .stack = "load_batch\t/me/train.py\t7\nmain\t/me/train.py\t10\n"},
               {.ranks = "0,2", .doing = "waits in gloo:all_reduce", .stack = "poll\t\t0\n"}},
    .unheard = {{"h2", "3", "the node has not answered in time"}}};

TEST_CASE("a dump says who waits, who has not come, and what each worker does") {
  CHECK(dump_text(kDump, "train-7") ==
        "job train-7: round 2, 4 workers on 2 nodes, looked at for 31 ms\n"
        "ranks 0,2 wait in gloo:all_reduce, number 13 of group 0 (default_pg), which rank 1 has "
        "not reached\n"
        "\n"
        "[1] sleeps at load_batch (train.py:7)\n"
        "    load_batch  /me/train.py:7\n"
        "    main  /me/train.py:10\n"
        "[0,2] waits in gloo:all_reduce\n"
        "    poll\n"
        "[3] unknown, on h2: the node has not answered in time\n");
}

TEST_CASE("while no workers run a dump says why") {
  const JobDump dump{.state = "gathering", .why = "the job waits for its nodes"};
  CHECK(dump_text(dump, "j") == "job j: no workers run, the job waits for its nodes\n");
}

TEST_CASE(
    "a hang that is known stands in front, and ranks that wait for no other are listed, too") {
  JobDump dump{.world_size = 1, .nodes = 1};
  dump.hang = HangReport{.sentence = "rank 0 has made no progress for 61 s"};
  dump.waits = {{"recv", "", 0, "0", ""}};
  const std::string text = dump_text(dump, "j");
  CHECK_THAT(text, contains("the workers hang: rank 0 has made no progress for 61 s\n"));
  CHECK_THAT(text, contains("rank 0 waits in recv, and nobody is missing\n"));
  CHECK_THAT(text, contains("1 worker on 1 node,"));
}

TEST_CASE("what a worker has in its stack gives no orders to the terminal") {
  JobDump dump{.world_size = 1, .nodes = 1};
  dump.stacks = {{.ranks = "0", .doing = "is at \x1b[2J", .stack = "f\x1b]0;x\ta.py\t1\n"}};
  CHECK_THAT(dump_text(dump, "j"), !contains("\x1b"));
}

TEST_CASE("as JSON the hang and the stacks are those of the report") {
  JobDump dump = kDump;
  dump.hang = HangReport{.sentence = "s", .missing_ranks = "1", .waiting_ranks = "0,2"};
  const json out = json::parse(dump_json(dump, "train-7"));
  CHECK(out["schema"] == "ddprun.dump/1");
  CHECK(out["job"] == "train-7");
  CHECK(out["state"] == "running");
  CHECK(out["round"] == 2);
  CHECK(out["hang"]["missing_ranks"] == json{1});
  CHECK(out["waits"][0]["waiting_ranks"] == json{0, 2});
  CHECK(out["waits"][0]["missing_ranks"] == json{1});
  CHECK(out["waits"][0]["sequence"] == 13);
  CHECK(out["stacks"][0]["ranks"] == json{1});
  CHECK(out["stacks"][0]["frames"][0] ==
        json{{"function", "load_batch"}, {"file", "/me/train.py"}, {"line", 7}});
  CHECK(out["unheard"][0]["ranks"] == json{3});
  CHECK_FALSE(out.contains("why"));
}

}  // namespace
}  // namespace ddprun
