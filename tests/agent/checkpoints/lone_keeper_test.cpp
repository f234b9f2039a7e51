#include "agent/checkpoints/lone_keeper.hpp"

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;
using What = CheckpointNews::What;

/// Jobs that keep their checkpoints in folders of the test.
class KeeperFixture {
 protected:
  KeeperFixture() {
    for (const char* name : {"memory", "other"}) fs::create_directory(scratch_ / name);
  }

  /// A job on the machine with that memory, whose program saves these files. If it is killed, it
  /// does so when they are on disk. Returns whether all is on disk at the end.
  bool job(const std::vector<std::string>& saved, const std::string& memory = "memory",
           bool is_killed = false) {
    began_with_.clear();
    is_written_ = saved.empty();
    const auto hear = [this](const CheckpointNews& news) {
      if (news.what == What::kPutBack) began_with_ = news.name;
      if (news.what == What::kWritten) is_written_ = true;
    };
    LoneKeeper keeper{loop_.get_executor(), {out_, disk_}, hear, scratch_ / memory};
    std::optional<Result<void>> begun;
    run(then(keeper.begin(), [&](Result<void> how) { begun = std::move(how); }));
    REQUIRE(begun->has_value());
    for (const std::string& name : saved) scratch_.write("out/" + name, name);
    run(keeper.end_round(true));
    while (!is_written_) loop_.run_one();
    status_ = keeper.status();
    if (!is_killed) run(keeper.end(false));
    loop_.restart();
    loop_.poll();
    return keeper.has_written();
  }
  void run(asio::awaitable<void> work) {
    bool ended = false;
    auto whole = then_note(std::move(work), ended);
    start_coroutine(loop_, std::move(whole), report_failure("the test"));
    loop_.restart();
    while (!ended) loop_.run_one();
  }
  static asio::awaitable<void> then_note(asio::awaitable<void> work, bool& ended) {
    co_await std::move(work);
    ended = true;
  }
  /// Whether a job has left something in that memory.
  bool is_left(const std::string& memory) const {
    for (const auto& entry : fs::recursive_directory_iterator{scratch_ / memory})
      if (entry.path().filename() == "lock") return true;
    return false;
  }

  ScratchFolder scratch_;
  const std::string out_ = (scratch_ / "out").string();
  const std::string disk_ = (scratch_ / "disk").string();
  asio::io_context loop_{1};
  std::string began_with_;  // the checkpoint that was put back
  bool is_written_ = false;
  std::optional<KeptCheckpoints> status_;  // before its end
};

TEST_CASE_METHOD(KeeperFixture, "what a program has saved is on disk when its job has ended") {
  CHECK(job({"model.pt", "train.log"}));
  CHECK(began_with_.empty());
  CHECK(fs::read_symlink(out_) == disk_);
  CHECK(content(scratch_ / "disk/model.pt") == "model.pt");
  CHECK(content(scratch_ / "disk/train.log") == "train.log");
  CHECK_FALSE(is_left("memory"));
  CHECK(job({}));
  CHECK(began_with_ == "model.pt");
}

TEST_CASE_METHOD(KeeperFixture, "a status tells what is in memory, and what is on disk") {
  REQUIRE(job({}));
  CHECK(status_->written.empty());
  CHECK(status_->written_age_ms == -1);
  REQUIRE(job({"first.bin"}));
  CHECK(status_->newest == "first.bin");
  CHECK(status_->bytes == 9);
  CHECK(status_->written == "first.bin");
  CHECK(status_->written_bytes == 9);
  CHECK(status_->written_age_ms >= 0);
}

TEST_CASE_METHOD(KeeperFixture, "a job goes on with what a killed one has left in memory") {
  job({"model.pt"}, "memory", true);
  CHECK(is_left("memory"));
  SECTION("it is not on disk, where others have put an old file") {
    fs::remove_all(disk_);
    scratch_.write("disk/old.pt", "old");
    fs::last_write_time(scratch_ / "disk/old.pt",
                        fs::file_time_type::clock::now() - std::chrono::hours{1});
    CHECK(job({}));
    CHECK(began_with_ == "model.pt");
    CHECK_FALSE(is_left("memory"));
  }
  SECTION("but not where another machine has gone further") {
    const std::int64_t then = unix_time_ms();
    while (unix_time_ms() == then) {
    }
    CHECK(job({"later.pt"}, "other"));
    CHECK(job({}));
    CHECK(began_with_ == "later.pt");
    CHECK_FALSE(is_left("memory"));
  }
}

/// A job that is killed and started again and again.
class RestartedFixture : public KeeperFixture {
 protected:
  RestartedFixture() {
    run(then(keeper_.begin(), [](const Result<void>& how) { REQUIRE(how.has_value()); }));
    run(keeper_.end_round(false));
  }
  ~RestartedFixture() {
    run(keeper_.end(false));
    loop_.restart();
    loop_.poll();
  }
  /// Workers begin, save that file, and end well; "": they save nothing, and fail. Returns what
  /// they have begun with, and why not with a newer one.
  std::string round(const std::string& saved, bool older = false) {
    run(then(keeper_.begin_round({.checkpoint = {.older = older}}),
             [](const Result<void>& how) { REQUIRE(how.has_value()); }));
    if (!saved.empty()) scratch_.write("out/" + saved, saved);
    keeper_.workers_end();
    run(keeper_.end_round(!saved.empty()));
    return began_with_ + (failing_.empty() ? "" : ", not " + failing_);
  }
  bool is_there(const std::string& name) const { return fs::exists(scratch_ / "out" / name); }

  std::string failing_;
  LoneKeeper keeper_{loop_.get_executor(),
                     {out_, disk_},
                     [this](const CheckpointNews& news) {
                       if (news.what != What::kPutBack) return;
                       began_with_ = news.name;
                       failing_ = news.failing;
                     },
                     scratch_ / "memory"};
};

TEST_CASE_METHOD(RestartedFixture, "what failed alike each time gives way to the one before it") {
  round("a.pt");
  CHECK(round("b.pt") == "a.pt");
  CHECK(round("") == "b.pt");
  CHECK(round("", true) == "b.pt");  // it was loaded once
  CHECK(round("", true) == "a.pt, not b.pt");
  CHECK_FALSE(is_there("b.pt"));
  SECTION("also in later rounds") { CHECK(round("") == "a.pt"); }
  SECTION("until there is a newer one, which takes its place on disk, too") {
    CHECK(round("c.pt") == "a.pt");
    CHECK(round("") == "c.pt");
    run(keeper_.end(false));
    CHECK(is_there("a.pt"));
    CHECK_FALSE(is_there("b.pt"));
    CHECK(is_there("c.pt"));
  }
}

TEST_CASE_METHOD(RestartedFixture,
                 "what was kept since then is tried, and what stands alone, too") {
  round("a.pt");
  SECTION("a newer one") {
    CHECK(round("b.pt") == "a.pt");
    CHECK(round("", true) == "b.pt");
  }
  SECTION("the only one") {
    CHECK(round("") == "a.pt");
    CHECK(round("") == "a.pt");
    CHECK(round("", true) == "a.pt");
  }
}

}  // namespace
}  // namespace ddprun
