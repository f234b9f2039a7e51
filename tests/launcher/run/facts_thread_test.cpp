#include "launcher/run/facts_thread.hpp"

#include <memory>
#include <semaphore>
#include <stdexcept>

#include "tests/support/catch.hpp"
#include "tests/support/event_loop.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// Facts that are gathered when the test lets them, as from a disk that hangs until then. Each time
/// they tell of one worker more.
struct Disk {
  std::counting_semaphore<> asked{0};
  std::counting_semaphore<> answers{0};
  int times = 0;
};

class FactsFixture {
 protected:
  ~FactsFixture() {
    disk_->answers.release(8);  // for threads that still hang
  }

  FactsThread::Gather slow_gather() const {
    return [disk = disk_] {
      disk->asked.release();
      disk->answers.acquire();
      return RunRecord{.workers = ++disk->times};
    };
  }

  std::shared_ptr<Disk> disk_ = std::make_shared<Disk>();
  asio::io_context home_{1};
};

TEST_CASE_METHOD(FactsFixture, "facts that have been gathered are there") {
  FactsThread thread{home_, [] { return RunRecord{.workers = 3}; }};
  thread.begin();
  CHECK(thread.facts_within(kTestPatience).value().workers == 3);
  CHECK(thread.facts_within(0s).value().workers == 3);
}

TEST_CASE_METHOD(FactsFixture, "a disk that hangs is waited for no longer than said") {
  FactsThread thread{home_, slow_gather()};
  thread.begin();
  const auto facts = thread.facts_within(1ms);
  REQUIRE_FALSE(facts.has_value());
  CHECK(facts.error().kind == Error::Kind::kTimeout);
  CHECK_THAT(facts.error().message, contains("no answer from a disk for 1 ms"));
  disk_->answers.release();
  CHECK(thread.facts_within(kTestPatience).value().workers == 1);
}

TEST_CASE_METHOD(FactsFixture, "a thread that hangs is left behind, with all that it uses") {
  auto home = std::make_unique<asio::io_context>(1);
  std::make_unique<FactsThread>(*home, slow_gather())->begin();
  home.reset();
  CHECK(disk_->asked.try_acquire_for(kTestPatience));
  disk_->answers.release();  // it goes on, and its loop is gone
}

TEST_CASE_METHOD(FactsFixture, "while facts are gathered, a new wish is fulfilled afterwards") {
  FactsThread thread{home_, slow_gather()};
  thread.begin();
  disk_->asked.acquire();
  thread.begin();
  thread.begin();
  disk_->answers.release();
  disk_->asked.acquire();
  CHECK_FALSE(thread.facts_within(0s).has_value());  // the first facts are old
  disk_->answers.release();
  CHECK(thread.facts_within(kTestPatience).value().workers == 2);
  disk_->answers.release();
  thread.begin();
  CHECK(thread.facts_within(kTestPatience).value().workers == 3);
}

TEST_CASE_METHOD(FactsFixture, "an exception is an error with its sentence, and no other facts") {
  FactsThread thread{home_, []() -> RunRecord { throw std::runtime_error{"no memory"}; }};
  CHECK_THAT(thread.facts_within(0s).error().message, contains("nobody has asked"));
  thread.begin();
  CHECK(thread.facts_within(kTestPatience).error().message ==
        "its facts could not be gathered: no memory");
  CHECK(home_.poll() == 0);
}

}  // namespace
}  // namespace ddprun
