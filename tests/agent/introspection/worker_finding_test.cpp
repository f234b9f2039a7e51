#include "agent/introspection/worker_finding.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

const Frames kLoading{{"load_batch", "/home/me/train.py", 12},
                      {"<module>", "/home/me/train.py", 30}};

WorkerFinding sleeper(int rank) {
  return {.rank = rank,
          .state = 'S',
          .has_server = true,
          .answers = true,
          .idle = true,
          .frames = kLoading};
}

WorkerFinding waiter(int rank) {
  WorkerFinding finding = sleeper(rank);
  finding.pending = {"gloo:all_reduce", {"0", "default_pg"}, 12, "[[10]] Float"};
  return finding;
}

std::string doing(const WorkerFinding& finding) { return describe(finding).back().doing; }

TEST_CASE("what a worker does is described in a few words") {
  WorkerFinding finding = sleeper(0);
  CHECK(doing(finding) == "sleeps at load_batch (train.py:12)");
  finding.idle = false;
  finding.state = 'R';
  CHECK(doing(finding) == "is at load_batch (train.py:12)");
  finding.frames.clear();
  CHECK(doing(finding) == "runs");
  finding.answers = false;
  CHECK(doing(finding) == "does not answer");
  finding.has_server = false;
  CHECK(doing(finding) == "runs, and has not imported torch.distributed");
  finding.state = 'S';
  finding.wait_channel = "hrtimer_nanosleep";
  CHECK(doing(finding) == "sleeps (hrtimer_nanosleep)");
}

TEST_CASE("a description says how a worker has ended, and what keeps one from ending") {
  WorkerFinding finding = sleeper(0);
  finding.thread_wait = ThreadWait::kAtExit;
  CHECK(doing(finding) == "has ended, and waits for a thread at load_batch (train.py:12)");
  finding.thread_wait = ThreadWait::kJoin;
  CHECK(doing(finding) == "waits for a thread at load_batch (train.py:12)");
  finding.ending = Ending::kWell;
  CHECK(doing(finding) == "has ended, with code 0");
  finding.ending = Ending::kFailed;
  CHECK(doing(finding) == "has failed");
}

TEST_CASE("what keeps a worker from everything comes before what it wanted to do") {
  WorkerFinding finding = waiter(0);
  finding.keeps_lock = true;
  CHECK(doing(finding) == "keeps the interpreter's lock (GIL) in native code");
  finding.state = 'T';
  CHECK(doing(finding) == "is stopped (SIGSTOP)");
  CHECK(describe(finding).back().operation.empty());
  finding.state = 't';
  CHECK(doing(finding) == "is stopped by a debugger");
  CHECK(describe(finding).back().held_up == HeldUp::kStopped);
  finding.state = 'D';
  finding.wait_channel = "nfs_wait";
  CHECK(doing(finding) ==
        "sleeps in the kernel where no signal reaches it (nfs_wait): a file system or a device "
        "hangs");
  finding.ending = Ending::kWell;
  CHECK(doing(finding) == "has ended, with code 0");
}

TEST_CASE("a worker that waits for others is described with its operation") {
  const StackGroup group = describe(waiter(4)).back();
  CHECK(group.ranks == "4");
  CHECK(group.doing ==
        "waits in gloo:all_reduce, number 12 of group 0 (default_pg), [[10]] Float, called at "
        "load_batch (train.py:12)");
  CHECK(group.operation == "gloo:all_reduce");
  CHECK(group.group == "0 (default_pg)");
  CHECK(group.sequence == 12);
  CHECK(group.stack == "load_batch\t/home/me/train.py\t12\n<module>\t/home/me/train.py\t30");
  WorkerFinding finding = sleeper(0);
  finding.waits_in = "init_process_group";
  CHECK(doing(finding) == "waits in init_process_group, called at load_batch (train.py:12)");
  finding.waits_in = "wait";
  CHECK(doing(finding) == "waits in the store (wait), called at load_batch (train.py:12)");
  CHECK(describe(finding).back().operation == "TCPStore:wait");
}

TEST_CASE("a data loader's process that is stuck comes before its worker") {
  WorkerFinding finding = sleeper(0);
  const Frame get{"get", "/usr/lib/python3.11/multiprocessing/queues.py", 113};
  finding.data_loaders = {{4711, 'S', {{"__getitem__", "/home/me/data.py", 8}}},
                          {4712, 'S', {get}}};
  const auto groups = describe(finding);
  REQUIRE(groups.size() == 2);  // the other process has nothing to do
  CHECK(groups[0].doing == "has a data loader's process (4711) that is at __getitem__ (data.py:8)");
  CHECK(groups[1].doing == "waits for its data loader at load_batch (train.py:12)");
}

TEST_CASE("without a Python stack the native one is shown") {
  WorkerFinding finding = sleeper(0);
  finding.frames.clear();
  finding.native_stack = "main\t/src/a.cpp\t3";
  CHECK(describe(finding).back().stack == finding.native_stack);
}

TEST_CASE("the place of a native stack is in the user's own code, where there is some") {
  WorkerFinding finding = sleeper(0);
  finding.frames.clear();
  finding.native_stack =
      "clock_nanosleep\t../sysdeps/unix/sysv/linux/clock_nanosleep.c\t71\n"
      "pause\t./posix/pause.c\t9\n"
      "sleep_for<long>\t/usr/include/c++/12/bits/this_thread_sleep.h\t82\n"
      "at::native::add\t\t0\nload_batch\t/src/train.cpp\t12\nmain\t/src/train.cpp\t30";
  CHECK_THAT(describe(finding).back().doing, contains("at load_batch (train.cpp:12)"));
  finding.native_stack = "at::native::add\t\t0\nmain\t\t0";
  CHECK_THAT(describe(finding).back().doing, !contains(" at "));
}

TEST_CASE("workers that do the same are one group") {
  const auto groups = fold({waiter(0), sleeper(1), waiter(2), waiter(3)});
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].ranks == "0,2-3");
  CHECK(groups[1].ranks == "1");
}

}  // namespace
}  // namespace ddprun
