#include "launcher/hosts/hosts_machine.hpp"

#include <csignal>

#include "tests/launcher/hosts/hosts_fixture.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("what all nodes say is shown once, and again when one says it again") {
  NoteFilter notes;
  CHECK(notes.is_news(1, "stopping"));
  CHECK_FALSE(notes.is_news(2, "stopping"));
  CHECK_FALSE(notes.is_news(3, "stopping"));
  CHECK(notes.is_news(2, "stopping"));
  CHECK_FALSE(notes.is_news(1, "stopping"));
  CHECK(notes.is_news(1, "other"));
}

TEST_CASE("what a host says for the first time is always shown, however much was said before") {
  NoteFilter notes;
  for (int i = 0; i < 5000; ++i) CHECK(notes.is_news(1, std::to_string(i)));
  CHECK_FALSE(notes.is_news(2, "4999"));
  CHECK(notes.is_news(2, "0"));  // forgotten since
}

using namespace std::chrono_literals;

TEST_CASE_METHOD(HostsFixture, "all hosts are connected to at once, and the first one leads") {
  hosts(3);
  CHECK(step(Begin{}) == "connect h1, connect h2, connect h3");
  CHECK(hello(2).empty());
  CHECK(hello(1) == "lead h1");
  CHECK(listening(1) == "start h2 at 10.0.0.1");
  CHECK(hello(3) == "start h3 at 10.0.0.1");
}

TEST_CASE_METHOD(HostsFixture, "the job's exit code is the leader's") {
  run(2);
  CHECK(ended(2, 3).empty());
  CHECK(ended(1, 3).empty());
  CHECK(gone(2, 3).empty());
  CHECK(gone(1, 3) == "exit 3");
  run(2);
  ended(1, 0);
  gone(1);
  ended(2, 7);
  CHECK(gone(2, 7) == "exit 0");
}

TEST_CASE_METHOD(HostsFixture, "only the leader says where the coordinator listens") {
  hosts(2);
  step(Begin{});
  hello(1);
  hello(2);
  CHECK(listening(2).empty());
  CHECK(listening(1) == "start h2 at 10.0.0.1");
}

TEST_CASE_METHOD(HostsFixture,
                 "of several hosts that could not begin the first gives the exit code") {
  run(3, 2);
  ended(2, 71, false);
  CHECK_THAT(ended(3, 72, false), contains("1 of 3 hosts is left"));
  gone(2, 71);
  gone(3, 72);
  ended(1, 143);
  CHECK(gone(1, 143) == "exit 71");
}

TEST_CASE_METHOD(HostsFixture, "64 hosts at a time are connected to") {
  hosts(70);
  const std::string first = step(Begin{});
  CHECK_THAT(first, contains("connect h64"));
  CHECK(first.find("connect h65") == std::string::npos);
  CHECK(hello(5) == "connect h65");
  CHECK(hello(1) == "connect h66, lead h1");
  CHECK_THAT(gone(2, 255), contains("cannot reach h2"));
}

TEST_CASE_METHOD(HostsFixture, "a host that cannot be had ends a job that needs all") {
  hosts(3);
  step(Begin{});
  hello(1);
  hello(3);
  const std::string said =
      gone(2, 255, {"ssh: Could not resolve hostname h2: Name or service not known"});
  CHECK_THAT(said, contains("'no host is known by the name h2"));
  CHECK_THAT(said, contains("'2 of 3 hosts are left, and the job needs 3"));
  CHECK_THAT(said, contains("kill h3, signal 15 h1"));
  CHECK(gone(3).empty());
  CHECK(ended(1, 143, true, false).empty());
  CHECK(gone(1, 143) == "exit 69");
}

TEST_CASE_METHOD(HostsFixture, "a job that needs fewer goes on without a host") {
  hosts(3, 2);
  step(Begin{});
  hello(2);
  hello(3);
  SECTION("that was to lead: the next one does") {
    const std::string said = gone(1, 127);
    CHECK_THAT(said, contains("ddprun is not at /opt/ddprun on h1: --remote-path says where"));
    CHECK_THAT(said, contains("lead h2"));
    CHECK(listening(2) == "start h3 at 10.0.0.1");
    ended(2, 0);
    ended(3, 0);
    gone(3);
    CHECK(gone(2) == "exit 0");
  }
  SECTION("that is lost in the middle") {
    hello(1);
    listening(1);
    CHECK(gone(2, 255) == "'h2 is lost: its agent was killed, or the connection to it has ended'");
    ended(1, 0);
    ended(3, 0);
    gone(1);
    CHECK(gone(3) == "exit 0");
  }
}

TEST_CASE_METHOD(HostsFixture, "with too few hosts left the job is stopped") {
  run(3, 2);
  gone(3, 255);
  const std::string said = gone(2, 255);
  CHECK_THAT(said, contains("'1 of 3 hosts is left, and the job needs 2"));
  CHECK_THAT(said, contains("signal 15 h1"));
  ended(1, 143, true, false);
  CHECK(gone(1) == "exit 75");
}

TEST_CASE_METHOD(HostsFixture, "the job does not outlive the host of its coordinator") {
  run(3, 2);
  const std::string said = gone(1, 255);
  CHECK_THAT(said, contains("'h1 hosted the coordinator: without it the job cannot go on'"));
  CHECK_THAT(said, contains("signal 15 h2, signal 15 h3"));
  gone(2);
  CHECK(gone(3) == "exit 69");
}

TEST_CASE_METHOD(HostsFixture, "where agents elect another coordinator its host leads the job") {
  have_successors();
  run(3, 2);
  CHECK(gone(1, 255) ==
        "'h1 is lost: its agent was killed, or the connection to it has ended', "
        "'h1 hosted the coordinator: another host takes its place'");
  CHECK(listening(3).empty());
  CHECK(ended(2, 0).empty());
  CHECK(gone(2).empty());
  CHECK(ended(3, 0).empty());
  CHECK(gone(3) == "exit 0");
}

TEST_CASE_METHOD(HostsFixture, "who comes while there is no coordinator waits for the next one") {
  have_successors();
  hosts(4, 2);
  step(Begin{});
  for (const int host : {1, 2, 3}) hello(host);
  listening(1);
  gone(1, 255);
  CHECK(hello(4).empty());
  CHECK(listening(2) == "start h4 at 10.0.0.1");
}

TEST_CASE_METHOD(HostsFixture, "where nobody else runs yet nobody follows a leader that is lost") {
  have_successors();
  hosts(3, 1);
  step(Begin{});
  hello(1);
  listening(1);
  gone(2, 255);
  CHECK_THAT(gone(1, 255),
             contains("'h1 hosted the coordinator: without it the job cannot go on'"));
}

TEST_CASE_METHOD(HostsFixture,
                 "a leader that hangs is followed while its connection is still there") {
  have_successors();
  run(3, 2);
  CHECK(listening(2).empty());
  ended(3, 5);
  ended(2, 5);
  gone(2, 5);
  gone(3, 5);
  CHECK_THAT(after(30s + kStopReserve), contains("h1 has not ended in time"));
  CHECK(gone(1, 255) == "exit 5");
}

TEST_CASE_METHOD(HostsFixture, "a verdict counts though the leader that gave it is lost") {
  have_successors();
  run(3, 2);
  ended(2, 3);
  gone(1, 255);
  ended(3, 3);
  gone(2, 3);
  CHECK(gone(3, 3) == "exit 3");
}

TEST_CASE_METHOD(HostsFixture, "a verdict counts though the leader has ended without one before") {
  have_successors();
  hosts(3, 1);
  step(Begin{});
  hello(1);
  hello(2);
  listening(1);
  ended(1, 37, true, false);
  gone(1, 37);
  CHECK(ended(2, 0) == "kill h3");
  gone(2);
  CHECK(gone(3, 255) == "exit 0");
}

TEST_CASE_METHOD(HostsFixture, "without its leader and with too few hosts the job ends") {
  have_successors();
  run(3, 3);
  const std::string said = gone(1, 255);
  CHECK_THAT(said, contains("2 of 3 hosts are left, and the job needs 3"));
  CHECK_THAT(said, contains("signal 15 h2, signal 15 h3"));
  gone(2);
  CHECK(gone(3) == "exit 75");
}

TEST_CASE_METHOD(HostsFixture, "another version on a host is reported, with both numbers") {
  hosts(2, 1);
  step(Begin{});
  const std::string said = hello(1, "0.9");
  CHECK_THAT(said, contains("/opt/ddprun on h1 is ddprun 0.9, and this is 1.0"));
  CHECK_THAT(said, contains("kill h1"));
  CHECK(hello(2) == "lead h2");
  CHECK(gone(1, 255).empty());
}

TEST_CASE_METHOD(HostsFixture, "a host without what the job needs gives it its exit code") {
  run(2);
  const std::string said = ended(2, 127, false, false);
  CHECK_THAT(said, contains("1 of 2 hosts is left"));
  CHECK_THAT(said, contains("signal 15 h1"));
  gone(2, 127);
  ended(1, 143, true, false);
  CHECK(gone(1) == "exit 127");
}

TEST_CASE_METHOD(HostsFixture, "an agent that ends alone is missed once the leader goes on") {
  run(2);
  CHECK(ended(2, 69, true, false).empty());
  CHECK(gone(2, 69).empty());
  CHECK(after(kLeaderDelay - 1ms).empty());
  CHECK_THAT(after(1ms), contains("1 of 2 hosts is left"));
}

TEST_CASE_METHOD(HostsFixture, "an agent that knows the verdict may end long before the leader") {
  run(2);
  ended(2, 3);
  gone(2, 3);
  CHECK(after(20s).empty());
  ended(1, 3);
  CHECK(gone(1, 3) == "exit 3");
}

TEST_CASE_METHOD(HostsFixture, "an interrupt goes to all agents, and once more each time") {
  run(2);
  CHECK(step(Interrupt{SIGINT}) == "signal 2 h1, signal 2 h2");
  CHECK(step(Interrupt{SIGINT}) == "signal 2 h1, signal 2 h2");
  ended(2, 130, true, false);
  gone(2);
  CHECK(step(Interrupt{SIGINT}) == "signal 2 h1");
  ended(1, 130, true, false);
  CHECK(gone(1) == "exit 130");
}

TEST_CASE_METHOD(HostsFixture, "an interrupt before anything has begun leaves no host behind") {
  hosts(66);
  step(Begin{});
  const std::string said = step(Interrupt{SIGTERM});
  CHECK_THAT(said, contains("kill h64"));
  CHECK(said.find("h65") == std::string::npos);
  for (int i = 1; i < 64; ++i) CHECK(gone(i, 255).empty());
  CHECK(gone(64, 255) == "exit 143");
}

TEST_CASE_METHOD(HostsFixture, "signals that do not stop the job are handed on") {
  run(2);
  CHECK(step(Interrupt{SIGUSR1, false}) == "signal 10 h1, signal 10 h2");
  ended(2, 0);
  gone(2);
  ended(1, 0);
  CHECK(gone(1) == "exit 0");
}

TEST_CASE_METHOD(HostsFixture, "a host that never answers is given up after a minute") {
  hosts(2, 1);
  step(Begin{});
  hello(1);
  CHECK(after(kAnswerTimeout) ==
        "'h1 has not said within 60 s where its coordinator listens', kill h1, "
        "'no agent has answered on h2 within 60 s', kill h2, "
        "'0 of 2 hosts are left, and the job needs 1 (--nnodes MIN:MAX allows for fewer): stopping "
        "it', kill h2, signal 15 h1");
  gone(1);
  CHECK(gone(2) == "exit 69");
}

TEST_CASE_METHOD(HostsFixture, "agents that do not end when told are left to themselves") {
  run(2);
  step(Interrupt{SIGTERM});
  ended(1, 143, true, false);
  gone(1);
  CHECK(after(30s + kStopReserve) == "'h2 has not ended in time: it is left to itself', kill h2");
  CHECK(gone(2) == "exit 143");
}

TEST_CASE_METHOD(HostsFixture, "an ssh that outlives its agent is ended after the job") {
  run(2);
  CHECK(ended(2, 69, true, false).empty());
  CHECK(after(kLeaderDelay) ==
        "'1 of 2 hosts is left, and the job needs 2 (--nnodes MIN:MAX allows "
        "for fewer): stopping it', signal 15 h1");
  CHECK(ended(1, 143).empty());
  CHECK(gone(1).empty());
  CHECK(after(30s + kStopReserve) == "kill h2");
  CHECK(gone(2) == "exit 69");
}

TEST_CASE_METHOD(HostsFixture, "who still has something to say is waited for") {
  run(2);
  ended(1, 0);
  gone(1);
  for (int i = 0; i < 10; ++i) {
    CHECK(after(kStopReserve - 1s).empty());
    step(HostSaid{1, HostOutput{}});
  }
  CHECK_THAT(after(kStopReserve + 30s), contains("kill h2"));
}

TEST_CASE_METHOD(HostsFixture, "the fourth interrupt waits for nobody") {
  run(2);
  for (int i = 0; i < 3; ++i) CHECK(step(Interrupt{SIGINT}) == "signal 2 h1, signal 2 h2");
  CHECK_THAT(step(Interrupt{SIGINT}), contains("kill h1"));
  gone(1);
  CHECK(gone(2) == "exit 130");
}

TEST_CASE_METHOD(HostsFixture, "hosts that were not there in time are not needed after the end") {
  hosts(2, 1);
  step(Begin{});
  hello(1);
  listening(1);
  CHECK(ended(1, 0) == "kill h2");
  gone(1);
  CHECK(gone(2, 255) == "exit 0");
}

TEST_CASE_METHOD(HostsFixture, "every host may report until the leader has told its end") {
  run(3);
  CHECK(takes_report_of(2));
  CHECK(takes_report_of(1));
  ended(1, 3);
  CHECK_FALSE(takes_report_of(2));
  gone(1);
  CHECK_FALSE(takes_report_of(2));
  CHECK(takes_report_of(1));
}

TEST_CASE_METHOD(HostsFixture, "the others report on a job whose leader is lost") {
  run(3);
  gone(1, 255);
  CHECK(takes_report_of(2));
}

TEST_CASE_METHOD(HostsFixture, "a host that sends nonsense is given up") {
  run(2, 1);
  CHECK(step(HostBabbles{1, "malformed"}) == "'what h2 sends makes no sense: malformed', kill h2");
  CHECK(gone(2).empty());
}

}  // namespace
}  // namespace ddprun
