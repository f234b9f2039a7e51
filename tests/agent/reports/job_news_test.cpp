#include "agent/reports/job_news.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a short wait for nodes is not told, a long one when it changes and every 30 s") {
  WaitNote note;
  const TimePoint start{};
  const Waiting two{2, 3, 4, 600'000};
  CHECK_FALSE(note.next(two, "h0:7", start));
  CHECK_FALSE(note.next(two, "h0:7", start + 2s));
  CHECK(note.next(two, "h0:7", start + 3s) ==
        "waiting for nodes at h0:7: 2 of 3 there; giving up in 600 s");
  CHECK_FALSE(note.next(two, "h0:7", start + 4s));
  CHECK_FALSE(note.next(two, "h0:7", start + 32s));
  CHECK(note.next(two, "h0:7", start + 33s).has_value());
  const Waiting three{3, 3, 4, 29'500};
  CHECK(note.next(three, "h0:7", start + 34s) ==
        "3 nodes are there, and 4 may be: starting in 30 s");
  const Waiting one{1, 1, 4, 29'500};
  CHECK(note.next(one, "h0:7", start + 35s) == "1 node is there, and 4 may be: starting in 30 s");
}

TEST_CASE("a wait for others in place of nodes that fail says so") {
  WaitNote note;
  const Waiting waiting{
      .nodes = 2, .nodes_min = 2, .nodes_max = 2, .left_ms = 27'000, .objected = 1};
  note.next(waiting, "", TimePoint{});
  CHECK(
      note.next(waiting, "", TimePoint{} + 3s) ==
      "2 nodes are there, 1 of them to be left out (--node-strikes, --check-nodes): starting in 27 "
      "s, or when others have come in place of these");
}

using namespace std::chrono_literals;
using Level = NewsLine::Level;
using NewsLines = std::vector<NewsLine>;

// A node with two workers in a job that may be restarted three times.
class NewsFixture {
 protected:
  explicit NewsFixture(bool shares_output = false) : news_{spec(shares_output), run()} {}
  NewsLines hears(const CoordinatorMessage& message) { return news_.of(message, now_); }

  NewsLine prepares(const StartRound& place) { return news_.of_parked(place); }

  /// The coordinator is in this process from now on.
  void leads() { news_.leads(true); }

  TimePoint now_{};

 private:
  static RunFacts run() {
    RunFacts run;
    run.coordinator = {"h0", 29400};
    return run;
  }
  static LaunchSpec spec(bool shares_output) {
    LaunchSpec spec;
    spec.meeting.shares_output = shares_output;
    spec.workers = 2;
    spec.terms.restarts_max = 3;
    spec.terms.restarts.delay_max_ms = 60'000;
    return spec;
  }
  JobNews news_;
};

// The coordinator is on another node, which says to the same user what concerns the whole job.
struct SilentNewsFixture : NewsFixture {
  SilentNewsFixture() : NewsFixture{true} {}
};

TEST_CASE_METHOD(NewsFixture, "the first round is shown with the ranks of this node") {
  CHECK(hears(StartRound{.round = 1, .first_rank = 2, .world_size = 8}) ==
        NewsLines{{Level::kInfo, "round 1: ranks 2 to 3 of 8 on this node"}});
}

TEST_CASE_METHOD(NewsFixture, "a restart after a failure is shown, a round of other nodes is not") {
  hears(StartRound{.round = 1, .world_size = 4});
  CHECK(hears(StartRound{.round = 2, .attempt = 1, .world_size = 4}).front() ==
        NewsLine{Level::kWarning, "restart 1 of 3: starting 4 workers again"});
  CHECK(hears(StartRound{.round = 3, .attempt = 1, .world_size = 2}).size() == 1);
  CHECK(hears(StartRound{.round = 4, .attempt = 2, .world_size = 2}).size() == 2);
}

TEST_CASE_METHOD(NewsFixture, "the pause before a restart is shown once") {
  hears(StartRound{.round = 1, .world_size = 4});
  const Waiting waiting{.nodes = 1, .left_ms = 3'500, .pause_ms = 3'500};
  CHECK(hears(waiting) == NewsLines{{Level::kWarning, "restarting in 4 s (--restart-delay 0:1m)"}});
  CHECK(hears(waiting).empty());
  hears(StartRound{.round = 2, .attempt = 1, .world_size = 4});
  CHECK(hears(waiting).size() == 1);
}

TEST_CASE_METHOD(NewsFixture, "workers that are started beside a round are shown") {
  CHECK(prepares({.round = 3}).text ==
        "round 2 goes on without this node: starting 2 workers beside it, which come in when they "
        "are so far");
  CHECK(hears(Prepare{}).empty());  // perhaps none is started
}

TEST_CASE_METHOD(NewsFixture, "to a node that joins, the round is no restart") {
  CHECK(hears(StartRound{.round = 4, .attempt = 2, .world_size = 4}).size() == 1);
}

TEST_CASE_METHOD(NewsFixture, "a restart in place is shown as one, and so is the next one") {
  hears(StartRound{.round = 1, .world_size = 4});
  StopRound stop{1, "rank 1 was killed"};
  stop.keep = true;
  hears(stop);
  CHECK(hears(StartRound{.round = 2, .attempt = 1, .world_size = 4}).front() ==
        NewsLine{Level::kWarning, "restart 1 of 3: in place, with 4 workers"});
  hears(StopRound{2, "rank 2 was killed"});
  CHECK(hears(StartRound{.round = 3, .attempt = 2, .world_size = 4}).front() ==
        NewsLine{Level::kWarning, "restart 2 of 3: starting 4 workers again"});
}

TEST_CASE_METHOD(NewsFixture, "workers that start beside a round are shown") {
  hears(StartRound{.round = 1, .world_size = 4});
  StopRound stop{1, "rank 1 was killed"};
  stop.keep = true;
  hears(stop);
  CHECK(hears(StartRound{.round = 2, .attempt = 1, .world_size = 3, .vacant = "1"}) ==
        NewsLines{
            {Level::kWarning, "restart 1 of 3: in place, with 3 workers, while another one starts"},
            {Level::kInfo, "round 2: ranks 0 to 0 of 3 on this node"}});
}

TEST_CASE_METHOD(NewsFixture,
                 "a stop is shown with its reason and with the time for a checkpoint") {
  CHECK(hears(StopRound{1, "rank 0 failed"}) ==
        NewsLines{{Level::kWarning, "rank 0 failed: stopping all workers"}});
  CHECK(hears(StopRound{1, "SIGUSR1", 59'001}) ==
        NewsLines{{Level::kWarning, "SIGUSR1: workers have 60 s for a checkpoint"}});
}

TEST_CASE_METHOD(NewsFixture, "a restart is shown with what it cost, as far as it is known") {
  CHECK(hears(Restarted{{4, 3, "node h2 lost", 4, 31.4, 0.21, 9, 1900}}) ==
        NewsLines{{Level::kWarning,
                   "round 3 \u2192 4 (node h2 lost): noticed 4.0 ms, stopped 31 ms, sealed 0.2 ms, "
                   "started 9.0 ms, first step 1.9 s"}});
  CHECK(hears(Restarted{{4, 3, "why", 0, 2000, 1, -1, -1}}) ==
        NewsLines{{Level::kWarning,
                   "round 3 \u2192 4 (why): noticed 0.0 ms, stopped 2.0 s, sealed 1.0 ms"}});
  CHECK(hears(Restarted{{4, 3, "why", 0, 12, 1, 9, -1, false, true}}).front().text ==
        "round 3 \u2192 4 (why): noticed 0.0 ms, stopped 12 ms, sealed 1.0 ms, started 9.0 ms, "
        "no step yet");
  CHECK(hears(Restarted{{4, 3, "why", 0, 12, 1, -1, -1, true}}) ==
        NewsLines{{Level::kWarning,
                   "round 3 \u2192 4 in place (why): noticed 0.0 ms, left 12 ms, sealed 1.0 ms"}});
}

TEST_CASE_METHOD(NewsFixture, "the end shows where the time went, if there were restarts") {
  Goodput goodput{.wall_s = 100, .training_s = 97, .restarts_s = 1, .restarts = 2};
  goodput.startup_s = 2;
  goodput.goodput_percent = 97;
  CHECK(hears(JobTimes{{}, goodput}) ==
        NewsLines{
            {Level::kWarning,
             "100.0 s in all, 2.0 s of start-up, 97.0 s in training, 1.0 s in 2 restarts: goodput "
             "97.0 %"}});
  goodput.lost_steps = 12;
  goodput.lost_s = 1.5;
  goodput.goodput_percent = 95.5;
  CHECK_THAT(hears(JobTimes{{}, goodput}).front().text,
             contains("in 2 restarts, 12 steps done again (1.5 s): goodput 95.5 %"));
  goodput.lost_at_least = true;
  CHECK_THAT(hears(JobTimes{{}, goodput}).front().text,
             contains("at least 12 steps done again (1.5 s): goodput at most 95.5 %"));
  goodput = {.wall_s = 10, .training_s = 9, .restarts_s = 1, .restarts = 1};
  CHECK(hears(JobTimes{{}, goodput}).front().text ==
        "10.0 s in all, 1.0 s in 1 restart, without the time to a first step, which is not known");
  goodput = {.wall_s = 10, .training_s = 9};
  CHECK(hears(JobTimes{{}, goodput}) == NewsLines{{Level::kInfo, "10.0 s in all"}});
}

TEST_CASE_METHOD(NewsFixture, "the user learns which ranks are debugged, and when none is") {
  const DebuggedRank waiting{3, true, "train.py:31", "breakpoint()"};
  CHECK(hears(RanksDebugged{1, {}}).empty());
  CHECK(hears(RanksDebugged{1, {waiting}}) ==
        NewsLines{{Level::kWarning,
                   "rank 3 waits at train.py:31 for a debugger (breakpoint()): ddprun debug 3"}});
  CHECK(hears(RanksDebugged{1, {{.rank = 0}, waiting}}) ==
        NewsLines{{Level::kWarning,
                   "rank 0 is being debugged: no rank is called hung or slow meanwhile"}});
  CHECK(hears(RanksDebugged{1, {{.rank = 0}}}).empty());
  CHECK(hears(RanksDebugged{1, {}}) ==
        NewsLines{{Level::kWarning, "no rank is debugged any more: hangs are looked for again"}});
  CHECK(hears(RanksDebugged{1, {}}).empty());
}

TEST_CASE_METHOD(NewsFixture, "ranks of another round are debugged for the first time") {
  hears(RanksDebugged{1, {{.rank = 0}}});
  CHECK(hears(RanksDebugged{2, {{.rank = 0}}}).size() == 1);
  CHECK(hears(RanksDebugged{3, {}}).empty());
}

TEST_CASE_METHOD(NewsFixture, "a change of members that loses nothing is not called a restart") {
  Goodput goodput{.wall_s = 10, .restarts_s = 1.3, .startup_s = 2, .changes = 1};
  CHECK(hears(JobTimes{{}, goodput}) ==
        NewsLines{
            {Level::kWarning, "10.0 s in all, 2.0 s of start-up, 1.3 s in 1 change of members"}});
  goodput.restarts = 1;
  CHECK_THAT(hears(JobTimes{{}, goodput}).front().text,
             contains("1.3 s in 1 restart and 1 change of members"));
}

TEST_CASE_METHOD(NewsFixture, "a first step that a look has found may be older than the look") {
  RestartTimes times{.round = 4, .from_round = 3, .reason = "why", .first_step_ms = 1000};
  times.first_step_seen = true;
  CHECK_THAT(hears(Restarted{times}).front().text, contains("(why): first step at most 1.0 s"));
}

TEST_CASE_METHOD(NewsFixture,
                 "a rank for which the others wait is reported, and once more at the end") {
  Straggler straggler{.ranks = "5", .node = "h2", .cost_percent = 12, .late_us = 18'000};
  straggler.step_us = 150'000;
  straggler.why = "its cgroup is throttled";
  straggler.sentence = sentence_of(straggler);
  CHECK(hears(StragglerFound{1, straggler}).front().text ==
        "rank 5 (h2) makes the others wait 12 % of the time: it is 18 ms late in each step of 150 "
        "ms, and its cgroup is throttled");
  const JobTimes times{{}, {.wall_s = 10, .training_s = 9}};
  CHECK(hears(times).front().text ==
        "rank 5 (h2) made the others wait 12 % of the time: its cgroup is throttled");
  straggler.why.clear();
  CHECK_THAT(sentence_of(straggler), contains("150 ms; no cause was found"));
  CHECK(hears(StragglerOver{1, "5"}).front().text == "rank 5 is as fast as the others again");
  CHECK(hears(times).front().text == "10.0 s in all");
}

TEST_CASE_METHOD(NewsFixture, "a message says what a spare waits for") {
  CHECK(hears(Spare{2, 4}) ==
        NewsLines{{Level::kWarning, "round 2 has its 4 nodes: this one waits as a spare"}});
}

TEST_CASE_METHOD(NewsFixture, "a wait is shown once it is long, and again after a round") {
  const Waiting one_of_two{1, 2, 2, 60'000};
  CHECK(hears(one_of_two).empty());
  now_ += 3s;
  CHECK(hears(one_of_two) ==
        NewsLines{
            {Level::kWarning, "waiting for nodes at h0:29400: 1 of 2 there; giving up in 60 s"}});
  hears(StartRound{.round = 1});
  CHECK(hears(one_of_two).empty());
  now_ += 3s;  // the coordinator may be elsewhere by now
  CHECK(hears(one_of_two) ==
        NewsLines{{Level::kWarning, "waiting for nodes: 1 of 2 there; giving up in 60 s"}});
}

TEST_CASE_METHOD(SilentNewsFixture, "what every node could tell is a warning of one node only") {
  CHECK(hears(StopRound{1, "why"}).front().level == Level::kInfo);
  CHECK(hears(StartRound{.round = 2, .attempt = 1}).front().level == Level::kInfo);
  CHECK(hears(Spare{2, 4}).front().level == Level::kWarning);
}

TEST_CASE_METHOD(NewsFixture, "what concerns the machine alone is no news") {
  CHECK(hears(Joined{5000}).empty());
  CHECK(hears(Beat{}).empty());
  CHECK(hears(EndJob{}).empty());
  CHECK(hears(Refused{"why"}).empty());
}

TEST_CASE_METHOD(SilentNewsFixture,
                 "whose coordinator follows one that is lost tells from then on") {
  leads();
  CHECK(hears(StopRound{.reason = "node b is lost"}) ==
        NewsLines{{Level::kWarning, "node b is lost: stopping all workers"}});
}

}  // namespace
}  // namespace ddprun
