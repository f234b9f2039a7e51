#include "agent/control/job_queries.hpp"

#include <boost/asio/co_spawn.hpp>

#include "base/coroutines.hpp"
#include "tests/support/event_loop.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

class QueryFixture {
 protected:
  void asks(std::chrono::milliseconds timeout = 10s) {
    asio::co_spawn(loop_.executor(), query_.ask(timeout),
                   [this](const std::exception_ptr& failure, Result<JobStatus> answer) {
                     report_failure("asking")(failure);
                     answers_.push_back(std::move(answer));
                   });
    loop_.poll();
  }
  void is_joined() { query_.hear(Joined{5000}); }
  void wait_for_answers(std::size_t count) {
    loop_.run_until([&] { return answers_.size() == count; }, "answers");
  }

  EventLoop loop_;
  std::vector<int> asked_;
  StatusQuery query_{loop_.executor(),
                     [this](const AskStatus& q) { asked_.push_back(q.question); }};
  std::vector<Result<JobStatus>> answers_;
};

TEST_CASE_METHOD(QueryFixture, "callers that ask at the same time get the answer to one question") {
  is_joined();
  asks();
  asks();
  REQUIRE(asked_.size() == 1);
  const std::string text = to_json(JobStatus{.run_id = "r", .round = 3});
  query_.hear(StatusPart{asked_[0], text.substr(0, 10), false});
  query_.hear(StatusPart{asked_[0], text.substr(10), true});
  wait_for_answers(2);
  CHECK(answers_[0].value().round == 3);
  CHECK(answers_[1].value().run_id == "r");
  asks();
  CHECK(asked_.size() == 2);
}

TEST_CASE_METHOD(QueryFixture, "without a coordinator it says so") {
  asks();
  wait_for_answers(1);
  CHECK_THAT(answers_[0].error().message, contains("no coordinator"));
  CHECK(asked_.empty());
}

TEST_CASE_METHOD(QueryFixture, "a coordinator that is lost, or silent, keeps nobody waiting") {
  is_joined();
  asks();
  query_.lose_coordinator();
  wait_for_answers(1);
  CHECK(answers_[0].has_error());
  is_joined();
  asks(20ms);
  wait_for_answers(2);
  CHECK(answers_[1].error().kind == Error::Kind::kTimeout);
}

TEST_CASE_METHOD(QueryFixture,
                 "answers that nobody waits for, or that never end, are passed over") {
  is_joined();
  query_.hear(StatusPart{1, "{}", true});
  asks();
  query_.hear(StatusPart{asked_[0] + 1, "{}", true});
  CHECK(answers_.empty());
  const std::string much(kStatusPartBytesMax, 'x');
  for (std::size_t i = 0; i * much.size() <= kStatusBytesMax; ++i)
    query_.hear(StatusPart{asked_[0], much, false});
  wait_for_answers(1);
  CHECK_THAT(answers_[0].error().message, contains("too long"));
}

TEST_CASE("what all workers do is asked in the same way, of workers that can answer") {
  EventLoop loop;
  std::vector<int> asked;
  DumpQuery query{loop.executor(), [&](const AskDump& q) { asked.push_back(q.question); }};
  std::vector<Result<JobDump>> answers;
  const auto asks = [&] {
    asio::co_spawn(loop.executor(), query.ask(10s),
                   [&](const std::exception_ptr& failure, Result<JobDump> answer) {
                     report_failure("asking")(failure);
                     answers.push_back(std::move(answer));
                   });
    loop.poll();
  };
  query.hear(Joined{5000});
  asks();
  REQUIRE(asked.size() == 1);
  query.hear(DumpPart{asked[0], to_json(JobDump{.round = 3}), true});
  loop.run_until([&] { return answers.size() == 1; }, "an answer");
  CHECK(answers[0].value().round == 3);
}

}  // namespace
}  // namespace ddprun
