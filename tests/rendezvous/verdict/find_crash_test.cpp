#include "rendezvous/verdict/find_crash.hpp"

#include <csignal>

#include "tests/rendezvous/verdict/crash_text.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

constexpr char kPlain[] = R"(loading
Traceback (most recent call last):
  File "/home/me/train.py", line 90, in <module>
    main()
  File "/home/me/train.py", line 88, in main
    return settings["x"]
           ~~~~~~~~^^^^^
KeyError: 'x'
)";

TEST_CASE("a traceback names exception, file and line of the innermost frame") {
  CHECK(crash_of(kPlain) == "KeyError at /home/me/train.py:88: 'x'");
  const auto crash = find_crash(kPlain, kCode1);
  CHECK(crash->raised.front().frames == std::vector<Frame>{{"main", "/home/me/train.py", 88},
                                                           {"<module>", "/home/me/train.py", 90}});
  CHECK(crash->begin == 8);
}

TEST_CASE("the innermost frame in the user's code counts, not that of a library") {
  CHECK(crash_of(R"(Traceback (most recent call last):
  File "train.py", line 5, in <module>
    model(x)
  File "/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1501, in _call_impl
    return forward_call(*args, **kwargs)
  File "/home/me/model.py", line 33, in forward
    return torch.nn.functional.linear(x, w)
  File "/usr/lib/python3.11/json/decoder.py", line 337, in decode
    obj, end = self.raw_decode(s)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x3 and 2x2)
)") == "RuntimeError at /home/me/model.py:33: mat1 and mat2 shapes cannot be multiplied (4x3 and "
       "2x2)");
}

TEST_CASE("where all frames are a library's, the innermost of them is named") {
  CHECK(crash_of(R"(Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "/usr/lib/python3.11/site-packages/x/__main__.py", line 7, in <module>
ValueError: no
)") == "ValueError at /usr/lib/python3.11/site-packages/x/__main__.py:7: no");
}

TEST_CASE("what torch, loggers and terminals put before the lines is passed over") {
  CHECK(crash_of("[rank1]: Traceback (most recent call last):\n"
                 "[rank1]:   File \"/t.py\", line 4, in <module>\n"
                 "[rank1]:     f()\n"
                 "[rank1]: KeyError: 'planted'\n") == "KeyError at /t.py:4: 'planted'");
  CHECK(crash_of("2026-01-02 10:00:00,123 ERROR Traceback (most recent call last):\n"
                 "  File \"/t.py\", line 4, in <module>\n"
                 "KeyError: 'x'\n") == "KeyError at /t.py:4: 'x'");
  CHECK(crash_of("[trainer0]:Traceback (most recent call last):\n"
                 "[trainer0]:  File \"/t.py\", line 4, in <module>\n"
                 "[trainer0]:KeyError: 'x'\n") == "KeyError at /t.py:4: 'x'");
  CHECK(crash_of("10:00:01 | Traceback (most recent call last):\n"
                 "10:00:02 |   File \"/t.py\", line 4, in <module>\n"
                 "10:00:02 | KeyError: 'x'\n") == "KeyError at /t.py:4: 'x'");
  CHECK(crash_of("\x1b[31mTraceback (most recent call last):\x1b[0m\r\n"
                 "  File \x1b[35m\"/t.py\"\x1b[0m, line \x1b[35m4\x1b[0m, in \x1b[35mf\x1b[0m\r\n"
                 "\x1b[1;35mKeyError\x1b[0m: 'x'\r\n") == "KeyError at /t.py:4: 'x'");
}

TEST_CASE("a message ends where a line has neither the logger's words nor blanks before it") {
  const std::string text =
      "10:00:01 trainer: Traceback (most recent call last):\n"
      "  File \"/t.py\", line 4, in <module>\n";
  CHECK(crash_of(text + "KeyError: 'x'\nsaved the log\n") == "KeyError at /t.py:4: 'x'");
  CHECK(crash_of(text + "KeyError: 'x'\n10:00:02 trainer: more of it\n") ==
        "KeyError at /t.py:4: 'x'\nmore of it");
}

TEST_CASE("a progress bar may stand before a traceback, on its line") {
  CHECK(crash_of(
            "\r  3%|3  | 3/100 [00:01<00:40, 2.4it/s][rank1]: Traceback (most recent call last):\n"
            "[rank1]:   File \"/t.py\", line 4, in <module>\n[rank1]: KeyError: 'x'\n") ==
        "KeyError at /t.py:4: 'x'");
  CHECK(crash_of("  3%|3  | 3/100 [00:01<00:40, 2.4it/s]Traceback (most recent call last):\n"
                 "  File \"/t.py\", line 4, in <module>\nKeyError: 'x'\n") ==
        "KeyError at /t.py:4: 'x'");
}

TEST_CASE("a traceback of loguru is understood") {
  CHECK(crash_of("Traceback (most recent call last):\n\n  File \"/t.py\", line 9, in <module>\n"
                 "    main()\n    └ <function main at 0x7f>\n\n> File \"/t.py\", line 4, in main\n"
                 "    f(x)\n    │ └ 3\n    └ <function f at 0x7f>\n\nKeyError: 'x'\n") ==
        "KeyError at /t.py:4: 'x'");
}

TEST_CASE("of chained exceptions all are known, the last one last") {
  const auto crash = find_crash(R"(Traceback (most recent call last):
  File "/t.py", line 2, in read
    raise OSError("bad block")
OSError: bad block

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/t.py", line 9, in <module>
    load()
  File "/t.py", line 7, in load
    raise RuntimeError("cannot read") from error
RuntimeError: cannot read

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/t.py", line 11, in <module>
    logger.close()
AttributeError: 'NoneType' object has no attribute 'close'
)",
                                kCode1);
  REQUIRE(crash);
  REQUIRE(crash->raised.size() == 3);
  CHECK(crash->raised[0].fault.type == "OSError");
  CHECK(crash->raised[1].fault.line == 7);
  CHECK(crash->raised[2].fault.type == "AttributeError");
  CHECK(crash->begin == 0);
}

TEST_CASE("an exception of a data loader's process is shown with its own place") {
  CHECK(crash_of(R"([rank1]: Traceback (most recent call last):
[rank1]:   File "/t.py", line 20, in <module>
[rank1]:     for batch in loader:
[rank1]:   File "/v/lib/python3.11/site-packages/torch/_utils.py", line 733, in reraise
[rank1]:     raise exception
[rank1]: KeyError: Caught KeyError in DataLoader worker process 0.
[rank1]: Original Traceback (most recent call last):
[rank1]:   File "/v/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py", line 349, in _worker_loop
[rank1]:     data = fetcher.fetch(index)
[rank1]:   File "/t.py", line 11, in __getitem__
[rank1]:     return {"x": index}["y"]
[rank1]: KeyError: 'y'
)") == "KeyError at /t.py:11: 'y'");
}

TEST_CASE("an exception group is shown with the place of its first exception") {
  CHECK(
      crash_of(R"(  + Exception Group Traceback (most recent call last):
  |   File "/t.py", line 20, in <module>
  | ExceptionGroup: no shard could be read (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/t.py", line 6, in read
    | OSError: shard 0
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/t.py", line 8, in read
    | OSError: shard 1
    +------------------------------------
)") ==
      "ExceptionGroup at /t.py:6: no shard could be read (2 sub-exceptions) (first: OSError: shard "
      "0)");
}

TEST_CASE("a group of groups is shown with the place of the first exception that is none") {
  CHECK(crash_of(R"(  + Exception Group Traceback (most recent call last):
  |   File "/t.py", line 24, in read_all
  | ExceptionGroup: outer (1 sub-exception)
  +-+---------------- 1 ----------------
    | Exception Group Traceback (most recent call last):
    |   File "/t.py", line 18, in read_node
    | ExceptionGroup: inner (1 sub-exception)
    +-+---------------- 1 ----------------
      | Traceback (most recent call last):
      |   File "/t.py", line 14, in read
      | OSError: shard 2
)") == "ExceptionGroup at /t.py:14: outer (1 sub-exception) (first: OSError: shard 2)");
}

TEST_CASE("a script that cannot be parsed is shown with the place of the mistake") {
  CHECK(crash_of("  File \"/t.py\", line 2\n    def train(:\n              ^\n"
                 "SyntaxError: invalid syntax\n") == "SyntaxError at /t.py:2: invalid syntax");
  CHECK(crash_of(R"(Traceback (most recent call last):
  File "/main.py", line 1, in <module>
    import broken
  File "/broken.py", line 2
    def train(:
              ^
SyntaxError: invalid syntax
)") == "SyntaxError at /broken.py:2: invalid syntax");
}

TEST_CASE("a traceback that rich has drawn is understood") {
  CHECK(crash_of("╭───── Traceback (most recent call last) ─────╮\n"
                 "│ /home/me/train.py:90 in <module>            │\n"
                 "│                                             │\n"
                 "│   90     main()                             │\n"
                 "│ /home/me/train.py:88 in main                │\n"
                 "│ ❱ 88     return data[\"x\"]                   │\n"
                 "╰─────────────────────────────────────────────╯\n"
                 "KeyError: 'x'\n") == "KeyError at /home/me/train.py:88: 'x'");
}

TEST_CASE("a rule that is drawn before a traceback makes no box of it") {
  CHECK(crash_of("──── step 3 ──── Traceback (most recent call last):\n"
                 "  File \"/t.py\", line 4, in <module>\nKeyError: 'x'\n") ==
        "KeyError at /t.py:4: 'x'");
}

TEST_CASE("a message of several lines is kept") {
  const auto crash = find_crash(
      "Traceback (most recent call last):\n  File \"/t.py\", line 4, in f\n"
      "RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s): \"a\".\n"
      "\tsize mismatch for b\n",
      kCode1);
  CHECK(crash->raised.front().fault.message ==
        "Error(s) in loading state_dict for Net:\n\tMissing key(s): \"a\".\n\tsize mismatch for b");
}

TEST_CASE("what Python goes on from is not what ended the program") {
  const std::string ignored =
      "Exception ignored in: <function Loader.__del__ at 0x7f>\nTraceback (most recent call "
      "last):\n"
      "  File \"/t.py\", line 99, in __del__\nAttributeError: late\n";
  CHECK(crash_of(kPlain + ignored) == "KeyError at /home/me/train.py:88: 'x'");
  CHECK(crash_of(ignored).empty());
  // Python 3.14 says it in other words.
  CHECK(last_words("disk is full\nException ignored while calling deallocator <function f>:\n") ==
        "disk is full");
  CHECK(crash_of("Error in atexit._run_exitfuncs:\nTraceback (most recent call last):\n"
                 "  File \"/t.py\", line 9, in f\nValueError: x\n")
            .empty());
}

TEST_CASE("an exception of a thread counts where there is no other") {
  const std::string thread =
      "Exception in thread Thread-1 (f):\nTraceback (most recent call last):\n"
      "  File \"/usr/lib/python3.11/threading.py\", line 1038, in _bootstrap_inner\n"
      "  File \"/t.py\", line 5, in f\nZeroDivisionError: division by zero\n";
  CHECK(crash_of(thread, {.code = 5}) == "ZeroDivisionError at /t.py:5: division by zero");
  CHECK(find_crash(thread, kCode1)->source == Crash::Source::kAside);
  CHECK(crash_of(kPlain + thread) == "KeyError at /home/me/train.py:88: 'x'");
}

TEST_CASE("a traceback from which the program has gone on does not explain its end") {
  std::string text = kPlain;
  for (int i = 0; i < 9; ++i) text += "step " + std::to_string(i) + "\n";
  CHECK(crash_of(text).empty());
  CHECK(crash_of(std::string{kPlain} + "one\ntwo\n", {.code = 3}).empty());
  CHECK_FALSE(crash_of(std::string{kPlain} + "saved the log\n").empty());
  CHECK(crash_of(kPlain, {.signal = SIGKILL}).empty());
}

TEST_CASE("what Python and torch write behind any failure does not count as going on") {
  std::string text = kPlain;
  for (int i = 0; i < 9; ++i)
    text +=
        "[W1122 08:37:16.974 ProcessGroupNCCL.cpp:1250] Warning: destroy_process_group() was "
        "not called\n";
  CHECK_FALSE(crash_of(text, {.code = 3}).empty());
}

TEST_CASE("a C++ exception is shown with its type and text") {
  const std::string text =
      "terminate called after throwing an instance of 'std::runtime_error'\n"
      "  what():  no such batch\n";
  CHECK(crash_of(text, kAborted) == "std::runtime_error at :0: no such batch");
  const std::string python =
      "Fatal Python error: Aborted\n\nCurrent thread 0x00007f1 (most recent call first):\n"
      "  File \"/v/site-packages/x.py\", line 3 in call\n  File \"/t.py\", line 12 in step\n";
  CHECK(crash_of(text + python, kAborted) == "std::runtime_error at /t.py:12: no such batch");
}

TEST_CASE("an exception says more than the crash of the program that is torn down after it") {
  CHECK(crash_of(std::string{kPlain} + "terminate called without an active exception\n",
                 kAborted) == "KeyError at /home/me/train.py:88: 'x'");
}

TEST_CASE("an assertion, a sanitizer and the C library name what they found") {
  CHECK(crash_of("prog: src/a.cpp:12: void check(int): Assertion `ranks == 5' failed.\n",
                 kAborted) == "assertion at src/a.cpp:12: ranks == 5");
  CHECK(crash_of("=====\n==31846==ERROR: AddressSanitizer: heap-use-after-free on address 0x60\n"
                 "READ of size 4 at 0x60 thread T0\n"
                 "    #0 0x55 in read_after(int const*) /home/me/a.cpp:12:7\n"
                 "    #1 0x55 in main /home/me/a.cpp:19\n\n0x60 is located\n"
                 "freed by thread T0 here:\n    #0 0x7f in free asan_malloc.cpp:52\n")
            .starts_with("AddressSanitizer: heap-use-after-free at /home/me/a.cpp:12: "));
  CHECK(crash_of("free(): double free detected in tcache 2\n", kAborted) ==
        "heap corruption at :0: free(): double free detected in tcache 2");
  CHECK(crash_of("thread 'main' panicked at src/main.rs:2:5:\nindex out of bounds\n",
                 {.code = 101}) == "panic at src/main.rs:2: index out of bounds");
  CHECK(crash_of("/usr/include/c++/12/bits/stl_vector.h:1142: int& std::vector<int>::operator[]"
                 "(size_type): Assertion '__n < this->size()' failed.\n",
                 kAborted) ==
        "assertion at /usr/include/c++/12/bits/stl_vector.h:1142: __n < this->size()");
}

TEST_CASE("a panic of Go names the innermost frame that is not Go's own") {
  const std::string text =
      "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\n"
      "runtime.goPanicIndex(0x5, 0x3)\n\t/usr/local/go/src/runtime/panic.go:114 +0x74\n"
      "main.read(...)\n\t/src/reader.go:21\nmain.main()\n\t/src/main.go:12 +0x1d\n"
      "exit status 2\n";
  CHECK(crash_of(text, {.code = 2}) ==
        "panic at /src/reader.go:21: runtime error: index out of range [5] with length 3");
  CHECK(crash_of("panic: no stack\n", {.code = 2}).empty());
  CHECK(crash_of("panic: x\n\ngoroutine 1 [running]:\n", {.code = 2}) == "panic at :0: x");
}

TEST_CASE("what was thrown is distinguished from what only ended the program") {
  const auto thrown = [](std::string_view text) { return find_crash(text, kAborted)->thrown; };
  CHECK(thrown("terminate called after throwing an instance of 'int'\n"));
  CHECK_FALSE(thrown("terminate called without an active exception\n"));
  CHECK_FALSE(thrown("free(): double free detected in tcache 2\n"));
}

TEST_CASE("an exception that a pool of processes hands on has its first place") {
  const std::string remote =
      "multiprocessing.pool.RemoteTraceback: \n\"\"\"\nTraceback (most recent call last):\n"
      "  File \"/t.py\", line 13, in decode\nValueError: sample 3\n\"\"\"\n\n"
      "The above exception was the direct cause of the following exception:\n\n"
      "Traceback (most recent call last):\n  File \"/t.py\", line 21, in <module>\n";
  CHECK(crash_of(remote + "ValueError: sample 3\n") == "ValueError at /t.py:13: sample 3");
  CHECK(crash_of(remote + "ValueError: batch 1\n") == "ValueError at /t.py:21: batch 1");
  CHECK(crash_of(remote + "KeyError: sample 3\n") == "KeyError at /t.py:21: sample 3");
}

TEST_CASE("an exception that ended Python counts, however much is written behind it") {
  std::string text = kPlain;
  for (int i = 0; i < 40; ++i) text += "tracker: line " + std::to_string(i) + "\n";
  const auto late = [](std::size_t offset) { return offset == 8; };
  CHECK_FALSE(find_crash(text, kCode1));
  CHECK(find_crash(text, kCode1, late));
  CHECK_FALSE(find_crash(text, {.code = 3}, late));
  CHECK_FALSE(find_crash("ERROR:root:failed\n" + text.substr(8), kCode1, late));
  std::string marked =
      "[rank1]: Traceback (most recent call last):\n"
      "[rank1]:   File \"/t.py\", line 4, in f\n[rank1]: KeyError: 'x'\n";
  for (int i = 0; i < 40; ++i) marked += "tracker: line " + std::to_string(i) + "\n";
  CHECK(find_crash(marked, kCode1));
}

TEST_CASE("whatever a worker writes is read without harm") {
  for (const std::string text :
       {"", "Traceback (most recent call last):", "Traceback (most recent call last):\n",
        "Traceback (most recent call last):\n  File \"", "File \"x\", line 99999999999999, in f",
        "\x1b[", "\x1b]", "╭─ Traceback (most recent call last) ─╮",
        "  + Exception Group Traceback (most recent call last):\n",
        "Fatal Python error: ", "==ERROR: XSanitizer: ", ": Assertion `", "thread ' panicked at "})
    CHECK_NOTHROW(find_crash(text, kCode1));
}

TEST_CASE("a record's traceback is read as it stands, however it goes on") {
  CHECK(find_recorded_crash(kPlain)->raised.back().fault.line == 88);
  CHECK_FALSE(find_recorded_crash("nothing"));
}

TEST_CASE("the last words are those that say something") {
  CHECK(last_words("disk is full\n\n[W1122 08:37:16] Warning: x\n") == "disk is full");
  CHECK(last_words("").empty());
}

}  // namespace
}  // namespace ddprun
