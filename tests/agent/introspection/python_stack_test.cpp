#include "agent/introspection/python_stack.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

constexpr char kPythonDump[] =
    "Current thread 0x00007f49f25fc6c0 (most recent call first):\n"
    "  <no Python frame>\n"
    "\n"
    "Thread 0x00007f0fa55116c0 (most recent call first):\n"
    "  File \"/usr/lib/python3.11/threading.py\", line 982 in run\n"
    "\n"
    "Thread 0x00007f4aacc03b80 (most recent call first):\n"
    "  File \"/home/me/my \"quoted\", line 3.py\", line 12 in load_batch\n"
    "  File \"/home/me/train.py\", line 30 in <module>\n";

const Frames kMain{{"load_batch", "/home/me/my \"quoted\", line 3.py", 12},
                   {"<module>", "/home/me/train.py", 30}};

Frame torch_frame(const std::string& function, const std::string& file) {
  return {function, "/v/lib/python3.11/site-packages/torch/" + file, 7};
}

TEST_CASE("the stacks of faulthandler are read, and the main thread's is the last") {
  const auto threads = parse_python_stacks(kPythonDump);
  REQUIRE(threads.size() == 2);
  CHECK(threads[0] == Frames{{"run", "/usr/lib/python3.11/threading.py", 982}});
  CHECK(telling_thread(threads) == kMain);
  CHECK(telling_thread({}).empty());
}

TEST_CASE("the stack of one thread is read, and the hook that writes it is no part of it") {
  const auto threads = parse_python_stacks(
      "Stack (most recent call first):\n"
      "  File \"/tmp/ddprun-1/sitecustomize.py\", line 57 in tell_stacks\n"
      "  File \"/home/me/train.py\", line 12 in tell_stacks\n");
  CHECK(threads == std::vector<Frames>{{{"tell_stacks", "/home/me/train.py", 12}}});
}

TEST_CASE("at the end of the program the thread that it waits for tells where it is") {
  const Frames waits{{"join", "/usr/lib/python3.11/threading.py", 1},
                     {"_shutdown", "/usr/lib/python3.11/threading.py", 1590}};
  const Frames idle{{"wait", "/usr/lib/python3.11/threading.py", 320}};
  CHECK(thread_wait({kMain, waits}) == ThreadWait::kAtExit);
  CHECK(telling_thread({idle, kMain, waits}) == kMain);
  CHECK(telling_thread({idle, waits}) == waits);
  CHECK(thread_wait({waits, kMain}) == ThreadWait::kNo);
  CHECK(telling_thread({waits, kMain}) == kMain);
  CHECK(thread_wait({{{"_shutdown", "/home/me/train.py", 3}}}) == ThreadWait::kNo);
  CHECK(thread_wait({}) == ThreadWait::kNo);
}

TEST_CASE("the thread that is joined tells where the program is, if only one can be meant") {
  const Frames joins{{"_wait_for_tstate_lock", "/usr/lib/python3.11/threading.py", 1136},
                     {"join", "/usr/lib/python3.11/threading.py", 1112},
                     {"<module>", "/home/me/train.py", 40}};
  const Frames pin_memory{torch_frame("do_one_step", "utils/data/_utils/pin_memory.py")};
  CHECK(thread_wait({kMain, joins}) == ThreadWait::kJoin);
  CHECK(telling_thread({pin_memory, kMain, joins}) == kMain);
  CHECK(telling_thread({kMain, kMain, joins}) == joins);
  CHECK(telling_thread({pin_memory, joins}) == joins);
  CHECK(thread_wait({{{"join", "/home/me/paths.py", 3}}}) == ThreadWait::kNo);
}

TEST_CASE("the thread in which the hook waits for orders is none of the program's") {
  const auto threads = parse_python_stacks(
      "Thread 0x1 (most recent call first):\n"
      "  File \"/usr/lib/python3.11/socket.py\", line 294 in accept\n"
      "  File \"/tmp/ddprun-1/sitecustomize.py\", line 244 in wait_for_orders\n\n"
      "Thread 0x2 (most recent call first):\n"
      "  File \"/home/me/train.py\", line 12 in save\n\n"
      "Thread 0x3 (most recent call first):\n"
      "  File \"/usr/lib/python3.11/threading.py\", line 1112 in join\n"
      "  File \"/home/me/train.py\", line 40 in <module>\n");
  CHECK(telling_thread(threads) == Frames{{"save", "/home/me/train.py", 12}});
}

TEST_CASE("what is no stack has no frames") {
  CHECK(parse_python_stacks("").empty());
  CHECK(parse_python_stacks("  File \"x.py\", line 1 in f\n").empty());  // belongs to no thread
  CHECK(parse_python_stacks("Thread 0x1 (most recent call first):\n  File x\n\n").empty());
}

TEST_CASE("a stack goes over the wire as text, and comes back") {
  const std::string text = stack_text(kMain, 1000);
  CHECK(parse_stack_text(text) == kMain);
  CHECK(parse_stack_text(stack_text(kMain, 60)) == Frames{kMain[0]});
  CHECK(parse_stack_text("no tabs\n\n") == Frames{{"no tabs", "", 0}});
  CHECK(parse_stack_text("load\ttra…") == Frames{{"load", "", 0}});  // cut
}

TEST_CASE("a frame of torch.distributed tells in which operation a rank waits") {
  const std::string c10d = "distributed/distributed_c10d.py";
  CHECK(waits_for_others({torch_frame("recv", c10d), kMain[1]}) == "recv");
  CHECK(waits_for_others({torch_frame("_store_based_barrier", c10d),
                          torch_frame("init_process_group", c10d), kMain[1]}) ==
        "init_process_group");
  CHECK(waits_for_others({torch_frame("_env_rendezvous_handler", "distributed/rendezvous.py")}) ==
        "init_process_group");
  CHECK_FALSE(waits_for_others(kMain));
  CHECK_FALSE(waits_for_others({kMain[0], torch_frame("recv", c10d)}));
  CHECK_FALSE(waits_for_others({}));
}

TEST_CASE("one sees who waits for a data loader, and which of its processes has nothing to do") {
  const Frame poll{"poll", "/usr/lib/python3.11/multiprocessing/connection.py", 257};
  const Frame get{"get", "/usr/lib/python3.11/multiprocessing/queues.py", 113};
  CHECK(
      waits_for_data_loader({poll, get, torch_frame("_try_get_data", "utils/data/dataloader.py")}));
  CHECK_FALSE(waits_for_data_loader({poll, get, kMain[0]}));
  CHECK(waits_for_work({poll, get, kMain[1]}));
  CHECK_FALSE(waits_for_work({kMain[0], get}));
}

TEST_CASE("a frame is given as its function, file and line") {
  CHECK(describe(Frame{"step", "/home/me/train.py", 30}) == "step (train.py:30)");
}

}  // namespace
}  // namespace ddprun
