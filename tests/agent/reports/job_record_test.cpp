#include "agent/reports/job_record.hpp"

#include <boost/asio/io_context.hpp>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

class RecordFixture {
 protected:
  RecordFixture() {
    record_.when_hang_changes([this] { ++changes_; });
  }

  asio::io_context io_{1};
  JobRecord record_{io_.get_executor()};
  int changes_ = 0;
};

TEST_CASE_METHOD(RecordFixture, "a report repeats why the job failed and where its time went") {
  CHECK_FALSE(record_.job().verdict);
  CHECK_FALSE(record_.job().times);
  record_.hear(VerdictFound{});
  record_.hear(JobTimes{});
  CHECK(record_.job().verdict == Verdict{});
  CHECK(record_.job().times == JobTimes{});
}

TEST_CASE_METHOD(RecordFixture, "a hang is reported once, and once more when it is over") {
  record_.hear(HangFound{});
  record_.hear(HangFound{});
  CHECK(record_.job().hang == HangReport{});
  CHECK(changes_ == 1);
  record_.hear(HangOver{});
  record_.hear(HangOver{});
  CHECK_FALSE(record_.job().hang);
  CHECK(changes_ == 2);
}

TEST_CASE_METHOD(RecordFixture, "hangs that are over stay known, without their stacks") {
  HangReport hang{.missing_ranks = "1", .stacks = {{.ranks = "1"}}};
  record_.hear(HangFound{1, hang});
  record_.hear(HangOver{1, 1500});
  record_.hear(HangFound{1, hang});
  record_.hear(StartRound{});
  record_.hear(StartRound{});
  hang.stacks.clear();
  CHECK(record_.job().past_hangs == std::vector<PastHang>{{hang, 1500}, {hang, -1}});
  for (int i = 0; i < 20; ++i) {
    record_.hear(HangFound{1, hang});
    record_.hear(HangOver{1, i});
  }
  CHECK(record_.job().past_hangs.size() == kPastHangsMax);
  CHECK(record_.job().past_hangs.back().lasted_ms == 19);
}

TEST_CASE_METHOD(RecordFixture, "what NCCL says of a hang is not taken for one of the next") {
  record_.hear(HangFound{});
  record_.hear_nccl(1, {"rank 3 is missing"});
  CHECK(record_.job().hang->nccl == std::vector<std::string>{"rank 3 is missing"});
  record_.hear(HangOver{});
  record_.hear(HangFound{});
  record_.hear_nccl(1, {"rank 3 is missing"});
  CHECK(record_.job().hang->nccl.empty());
}

TEST_CASE_METHOD(RecordFixture, "the last round is known, and that its workers run") {
  int started = 0;
  record_.when_workers_run([&] { ++started; });
  CHECK_FALSE(record_.job().round);
  record_.begin_round({.round = 2, .group_rank = 1});
  CHECK(started == 0);
  record_.workers_run();
  CHECK(started == 1);
  CHECK(record_.job().round->group_rank == 1);
}

TEST_CASE_METHOD(RecordFixture,
                 "the checkpoint that was put back belongs to the round that begins") {
  using What = CheckpointNews::What;
  record_.hear({.what = What::kPutBack, .name = "c-1", .bytes_from_disk = 700});
  record_.hear({.what = What::kPutBack, .name = "c-2"});  // the first one was for no round
  record_.begin_round({.round = 2});
  record_.hear({.what = What::kKept, .name = "c-3"});
  record_.begin_round({.round = 3});  // its workers began without memory
  record_.hear({.what = What::kPutBack, .name = ""});
  record_.begin_round({.round = 4});  // and here nothing was kept yet
  record_.hear({.what = What::kPutBack, .name = "c-3", .bytes_from_disk = 700});
  record_.begin_round({.round = 5});
  CHECK(record_.job().continued == std::vector<ContinuedRound>{{2, "c-2", 0}, {5, "c-3", 700}});
}

TEST_CASE_METHOD(RecordFixture, "of many rounds the last ones are known") {
  for (int round = 1; round <= 100; ++round) {
    record_.hear({.what = CheckpointNews::What::kPutBack, .name = "c"});
    record_.begin_round({.round = round});
  }
  CHECK(record_.job().put_back == 100);
  CHECK(record_.job().continued.size() == kRestartsToldMax);
  CHECK(record_.job().continued.back().round == 100);
}

TEST_CASE_METHOD(RecordFixture, "a job that was in no hang tells of none") {
  record_.hear(StartRound{});
  record_.hear(HangOver{});
  CHECK_FALSE(record_.job().hang);
  CHECK(changes_ == 0);
}

TEST_CASE_METHOD(RecordFixture, "a fresh round is in no hang") {
  record_.hear(HangFound{});
  record_.hear(StartRound{});
  CHECK_FALSE(record_.job().hang);
  CHECK(changes_ == 2);
}

}  // namespace
}  // namespace ddprun
