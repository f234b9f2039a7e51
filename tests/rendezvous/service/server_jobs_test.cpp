// Server as `ddprun server` has it: any number of jobs at one port.
#include "tests/rendezvous/service/server_fixture.hpp"

namespace ddprun {
namespace {

TEST_CASE_METHOD(ServerFixture, "a server for many keeps jobs apart by their run id") {
  serve_many();
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto a = co_await f.agent();
    say(*a, f.join_job("a"));
    const auto round_of_a = co_await f.must_hear<StartRound>(*a);
    const auto b = co_await f.agent();
    say(*b, f.join_job("b"));
    const auto round_of_b = co_await f.must_hear<StartRound>(*b);
    CHECK(round_of_b.group_world_size == 1);
    CHECK(round_of_a.master_port != round_of_b.master_port);
    CHECK(round_of_a.master_addr.empty());
    say(*a, WorkersFinished{round_of_a.round});
    const auto end = co_await f.must_hear<EndJob>(*a);
    CHECK(end.outcome == EndJob::Outcome::kFinished);
    // The name is free again although the old job's agent has not gone yet.
    const auto next = co_await f.agent();
    say(*next, f.join_job("a"));
    const auto round = co_await f.must_hear<StartRound>(*next);
    CHECK(round.round == 1);
    say(*b, Beat{});
    const auto beat = co_await f.hear<Beat>(*b);
    CHECK(beat.has_value());
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "a job whose nodes have all gone gives way to one of other terms") {
  serve_many();
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto first = co_await f.agent();
    say(*first, f.join_job("a"));
    co_await f.hear<StartRound>(*first);
    const auto other = co_await f.agent();
    Join odd = f.join_job("a");
    odd.terms.restarts_max = 5;
    say(*other, odd);
    const auto refused = co_await f.must_hear<Refused>(*other);
    CHECK_THAT(refused.reason, contains("'--max-restarts=5'"));
    say(*first, Leave{"enough"});
    co_await f.hear<EndJob>(*first);
    const auto again = co_await f.agent();
    say(*again, odd);
    const auto round = co_await f.must_hear<StartRound>(*again);
    CHECK(round.round == 1);
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "a job that has had no node for long leaves the server") {
  serve_many({.empty_job_kept = 20ms});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto stays = co_await f.agent();
    say(*stays, f.join_job("stays"));
    co_await f.hear<StartRound>(*stays);
    const auto goes = co_await f.agent();
    say(*goes, f.join_job("goes"));
    co_await f.hear<StartRound>(*goes);
    goes->close();
    f.waiting_for_ = "the end of an empty job";
    for (std::string jobs; jobs != "1 jobs";) {
      const auto answer = co_await f.introduction("");
      jobs = answer.jobs;
    }
    say(*stays, Beat{});
    const auto beat = co_await f.hear<Beat>(*stays);
    CHECK(beat.has_value());
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "a job of which no round has begun goes with its last node") {
  serve_many({.empty_job_kept = 24h});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto goes = co_await f.agent();
    Join patient = f.join_job("goes");
    patient.terms.nodes_max = 2;
    patient.terms.nodes_min = 2;
    say(*goes, patient);
    co_await f.hear<Joined>(*goes);
    const auto comes_back = co_await f.agent();
    patient.run_id = "goes on";
    patient.counters.round = 3;
    say(*comes_back, patient);
    co_await f.hear<Joined>(*comes_back);
    comes_back->close();
    goes->close();
    f.waiting_for_ = "the end of the job without a round";
    for (std::string jobs; jobs != "1 jobs";) {
      const auto answer = co_await f.introduction("");
      jobs = answer.jobs;
    }
  }(*this));
}

TEST_CASE("a server that may open few files lets in fewer of each address") {
  CHECK(limits_for(1'000'000).jobs_per_address_max == ServerLimits{}.jobs_per_address_max);
  CHECK(limits_for(200).jobs_per_address_max == 25);
  CHECK(limits_for(200).newcomers_max == 50);
}

TEST_CASE_METHOD(ServerFixture, "one address may begin a number of jobs at a server, and no more") {
  serve_many({.jobs_per_address_max = 1});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto first = co_await f.agent();
    say(*first, f.join_job("a"));
    co_await f.hear<StartRound>(*first);
    const auto second = co_await f.agent();
    say(*second, f.join_job("b"));
    const auto refused = co_await f.must_hear<Refused>(*second);
    CHECK_THAT(refused.reason, contains("1 jobs already that were begun from 127.0.0.1"));
    const auto elsewhere = asio::ip::make_address("127.0.0.2");
    const auto third = co_await f.agent_from(elsewhere);
    say(*third, f.join_job("c"));
    const auto round = co_await f.hear<StartRound>(*third);
    CHECK(round.has_value());
  }(*this));
}

}  // namespace
}  // namespace ddprun
