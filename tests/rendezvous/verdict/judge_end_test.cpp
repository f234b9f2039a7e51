#include "rendezvous/verdict/judge_end.hpp"

#include <csignal>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

const TimePoint kEnded{100s};

constexpr char kKeyError[] =
    "Traceback (most recent call last):\n  File \"/t.py\", line 4, in f\nKeyError: 'x'\n";
constexpr char kReset[] =
    "Traceback (most recent call last):\n  File \"/t.py\", line 9, in g\n"
    "ConnectionResetError: [Errno 104] Connection reset by peer\n";

EndClues ended(ExitStatus status, std::string err = "") {
  EndClues clues{.rank = 1, .status = status, .ended = kEnded};
  clues.err.text = std::move(err);
  return clues;
}

/// A worker that wrote this that long before ddprun stopped it.
EndClues stopped(ExitStatus status, std::string err, std::chrono::milliseconds before) {
  EndClues clues = ended(status, std::move(err));
  clues.stop_sent = true;
  clues.stop_sent_at = kEnded - 50ms;
  clues.err.marks = {{0, clues.stop_sent_at - before}};
  return clues;
}

TEST_CASE("a worker that fails by itself is to blame") {
  const WorkerEnd end = judge_end(ended({.code = 1}, kKeyError));
  CHECK(end.ranks == "1");
  CHECK(end.blame == Blame::kOwn);
  CHECK(end.kind == FailureKind::kException);
  CHECK(end.fault.type == "KeyError");
  CHECK(end.fault.line == 4);
  CHECK(end.stack == "f\t/t.py\t4");
}

TEST_CASE("the last line on stdout is a reason only where it sounds like one") {
  EndClues clues = ended({.code = 3});
  clues.out.text = "step 2 loss 0.3\n";
  CHECK(judge_end(clues).says.empty());
  clues.out.text = "step 2 loss 0.3\nCannot open the shard 17\n";
  CHECK(judge_end(clues).says == "Cannot open the shard 17");
  clues.out.text = "connection reset by peer\n";
  CHECK(judge_end(clues).consequence == Consequence::kConnectionReset);
}

TEST_CASE("the kind of an end goes by the best evidence") {
  CHECK(judge_end(ended({.code = 3}, "no data\n")).kind == FailureKind::kExitCode);
  CHECK(judge_end(ended({.code = 3}, "no data\n")).says == "no data");
  CHECK(judge_end(ended({.signal = SIGSEGV})).kind == FailureKind::kSignal);
  CHECK(judge_end(ended({.signal = SIGSEGV},
                        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent "
                        "call first):\n  File \"/t.py\", line 3 in f\n"))
            .kind == FailureKind::kSignal);
  CHECK(judge_end(ended({.signal = SIGABRT},
                        "terminate called after throwing an instance of 'std::logic_error'\n"))
            .kind == FailureKind::kException);
  EndClues killed = ended({.signal = SIGKILL});
  killed.kernel = "out of memory: the kernel killed 1 process(es)";
  CHECK(judge_end(killed).kind == FailureKind::kOutOfMemory);
  CHECK_THAT(judge_end(killed).hint, contains("more memory"));
  EndClues never = ended({.code = 127}, "cannot run x: No such file or directory\n");
  never.started = false;
  CHECK(judge_end(never).kind == FailureKind::kCannotStart);
  CHECK(judge_end(ended({.code = 127}, "sh: 1: x: not found\n")).kind == FailureKind::kCannotStart);
  CHECK(judge_end(ended({.code = 127})).kind == FailureKind::kExitCode);
}

TEST_CASE("a worker whose timer has expired is to blame, and nothing else is guessed at") {
  EndClues late = ended({.signal = SIGKILL}, kReset);
  late.timer = "its timer 'step' expired after 2 s";
  const WorkerEnd end = judge_end(late);
  CHECK(end.blame == Blame::kOwn);
  CHECK(end.kind == FailureKind::kSignal);
  CHECK(end.fault.message == late.timer);
  CHECK(end.says == late.timer);
  CHECK(end.hint.empty());
}

TEST_CASE("who has lost a connection follows from somebody else") {
  const WorkerEnd end = judge_end(ended({.code = 1}, kReset));
  CHECK(end.blame == Blame::kFollows);
  CHECK(end.consequence == Consequence::kConnectionReset);
  CHECK(end.says == "connection reset");
  CHECK(judge_end(ended({.code = 1}, "error: Connection reset by peer\n")).blame ==
        Blame::kFollows);
  CHECK(judge_end(ended({.signal = SIGTERM})).blame == Blame::kFollows);
  CHECK(judge_end(ended({.code = 143})).blame == Blame::kFollows);
  CHECK(judge_end(ended({.code = 143})).consequence == Consequence::kForeignSignal);
  CHECK(judge_end(ended({.code = 143})).says == "ended by SIGTERM, which ddprun has not sent");
}

TEST_CASE("a crash follows from nobody, whatever was said before it") {
  const WorkerEnd end = judge_end(ended({.signal = SIGSEGV}, "error: Connection reset by peer\n"));
  CHECK(end.blame == Blame::kOwn);
  CHECK(end.consequence == Consequence::kNone);
}

TEST_CASE("what an end tells of its round goes by what it follows from, and by no words") {
  WorkerEnd end{.blame = Blame::kFollows};
  for (const auto what : {Consequence::kConnectionClosed, Consequence::kConnectionReset,
                          Consequence::kBrokenPipe, Consequence::kNcclLostRank}) {
    end.consequence = what;
    CHECK(lost_a_peer(end));
    CHECK(explains(end) == Explains::kNothing);
  }
  for (const auto what : {Consequence::kCollectiveTimedOut, Consequence::kStoreTimedOut}) {
    end.consequence = what;
    CHECK_FALSE(lost_a_peer(end));
    CHECK(explains(end) == Explains::kWaits);
  }
  end.consequence = Consequence::kForeignSignal;
  CHECK(explains(end) == Explains::kCause);
  const WorkerEnd own{.blame = Blame::kOwn, .says = "connection reset"};
  CHECK_FALSE(lost_a_peer(own));
  CHECK(explains(own) == Explains::kCause);
}

TEST_CASE("an exception that is raised while a lost connection is dealt with follows, too") {
  const std::string chained =
      std::string{kReset} +
      "\nDuring handling of the above exception, another exception "
      "occurred:\n\n"
      "Traceback (most recent call last):\n  File \"/t.py\", line 20, in h\n"
      "TrainingError: epoch 3 failed\n";
  CHECK(judge_end(ended({.code = 1}, chained)).blame == Blame::kFollows);
}

TEST_CASE("the root counts where only cleaning up has lost a connection") {
  const std::string chained = std::string{kKeyError} +
                              "\nDuring handling of the above exception, another exception "
                              "occurred:\n\n" +
                              kReset;
  const WorkerEnd end = judge_end(ended({.code = 1}, chained));
  CHECK(end.blame == Blame::kOwn);
  CHECK(end.fault.type == "KeyError");
}

TEST_CASE("a worker that is stopped while it is tearing itself down has perhaps failed by itself") {
  const WorkerEnd end = judge_end(stopped({.signal = SIGTERM}, kKeyError, 200ms));
  CHECK(end.blame == Blame::kPerhaps);
  CHECK(end.status == ExitStatus{.code = 1});
  CHECK(end.began_us == microseconds(kEnded - 250ms));
  const WorkerEnd lost = judge_end(stopped({.signal = SIGTERM}, kReset, 200ms));
  CHECK(lost.blame == Blame::kFollows);
  CHECK(lost.status == ExitStatus{.code = 1});
}

TEST_CASE("what torch has marked as uncaught has failed by itself for certain") {
  const std::string marked =
      "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/t.py\", line 4, in f\n"
      "[rank1]: KeyError: 'x'\n";
  CHECK(judge_end(stopped({.signal = SIGTERM}, marked, 200ms)).blame == Blame::kOwn);
}

TEST_CASE("a traceback that was logged, is old, or came because of the order is no failure") {
  CHECK(
      judge_end(stopped({.signal = SIGTERM}, std::string{"ERROR:root:retrying\n"} + kKeyError, 9ms))
          .blame == Blame::kStopped);
  CHECK(judge_end(stopped({.signal = SIGTERM}, kKeyError, 11s)).blame == Blame::kStopped);
  CHECK(judge_end(stopped({.code = 1}, kKeyError, -10ms)).blame == Blame::kStopped);
  CHECK(judge_end(stopped({.signal = SIGTERM}, std::string{kKeyError} + "a\nb\n", 9ms)).blame ==
        Blame::kStopped);
  CHECK(judge_end(stopped({.code = 143}, "", 1s)).blame == Blame::kStopped);
  CHECK(judge_end(stopped({}, "", 1s)).blame == Blame::kStopped);
}

TEST_CASE("a traceback that was printed long before a code of its own does not explain it") {
  EndClues clues = ended({.code = 3}, kKeyError);
  clues.err.marks = {{0, kEnded - 5s}};
  CHECK(judge_end(clues).kind == FailureKind::kExitCode);
  clues.err.marks = {{0, kEnded - 1s}};
  CHECK(judge_end(clues).kind == FailureKind::kException);
  clues.status.code = 1;  // as Python ends with an exception, however long it takes
  clues.err.marks = {{0, kEnded - 5s}};
  CHECK(judge_end(clues).kind == FailureKind::kException);
}

TEST_CASE("a traceback shortly before code 1 explains it, whatever follows it") {
  std::string text =
      "Traceback (most recent call last):\n  File \"/t.py\", line 9, in <module>\nKeyError: 'x'\n";
  for (int i = 0; i < 40; ++i) text += "tracker: line " + std::to_string(i) + "\n";
  EndClues clues = ended({.code = 1}, text);
  clues.err.marks = {{0, kEnded - 1s}};
  CHECK(judge_end(clues).fault.type == "KeyError");
  clues.err.marks = {{0, kEnded - 5s}};  // it uploads something at its exit
  CHECK(judge_end(clues).fault.type == "KeyError");
  clues.err.marks = {{0, kEnded - 11s}};
  CHECK(judge_end(clues).kind == FailureKind::kExitCode);
}

TEST_CASE("code 0 is no failure") {
  CHECK(judge_end(ended({})).blame == Blame::kDone);
  CHECK(judge_end(stopped({}, "", 1s)).blame == Blame::kStopped);
}

TEST_CASE("what a shell tells of its program's signal is explained") {
  CHECK_THAT(judge_end(ended({.code = 139})).hint, contains("SIGSEGV"));
  CHECK(judge_end(ended({.code = 140})).hint.empty());
}

TEST_CASE("what a worker recorded counts more than what it wrote") {
  EndClues clues = ended({.code = 1});
  clues.message = "TypeError: unsupported";
  clues.traceback =
      "Traceback (most recent call last):\n  File \"/t.py\", line 7, in main\n"
      "TypeError: unsupported operand\n";
  CHECK(judge_end(clues).fault.line == 7);
  clues.traceback.clear();
  CHECK(judge_end(clues).fault.type == "TypeError");
  CHECK(judge_end(clues).fault.message == "unsupported");
}

}  // namespace
}  // namespace ddprun
