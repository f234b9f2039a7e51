// Hints where more than the first line of one exception is known.
#include <string>

#include "rendezvous/verdict/judge_end.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

const std::string kOneFrame =
    "Traceback (most recent call last):\n  File \"/t.py\", line 4, in f\n";
const std::string kCaused =
    "\nThe above exception was the direct cause of the following exception:\n\n";
const std::string kMeanwhile =
    "\nDuring handling of the above exception, another exception occurred:\n\n";

std::string hint_of(const std::string& err) {
  EndClues clues{.rank = 1, .status = {.code = 1}};
  clues.err.text = err;
  return judge_end(clues).hint;
}

TEST_CASE("an exception that does not know its reason has the hint of the one before it") {
  CHECK_THAT(hint_of(kOneFrame + "RuntimeError: DataLoader worker (pid 7) is killed by signal: " +
                     "Killed. \n" + kCaused + kOneFrame +
                     "RuntimeError: DataLoader worker (pid(s) 7) exited unexpectedly\n"),
             contains("the kernel killed a data loader"));
  CHECK_THAT(hint_of(kOneFrame + "KeyError: 'x'\n" + kCaused + kOneFrame +
                     "RuntimeError: DataLoader worker (pid(s) 7) exited unexpectedly\n"),
             contains("num_workers=0"));
  CHECK_THAT(hint_of(kOneFrame + "PermissionError: [Errno 13] Permission denied: '/cache'\n" +
                     kMeanwhile + kOneFrame + "TrainingError: no cache\n"),
             contains("owner and the mode"));
}

TEST_CASE("an exception with a hint of its own has that one") {
  CHECK_THAT(hint_of(kOneFrame + "torch.OutOfMemoryError: CUDA out of memory.\n" + kMeanwhile +
                     kOneFrame + "OSError: [Errno 28] No space left on device\n"),
             contains("a disk is full"));
}

const std::string kWeights =
    "_pickle.UnpicklingError: Weights only load failed. In PyTorch 2.6, we changed the default.\n"
    "Please file an issue with the following: WeightsUnpickler error: \n\n";

TEST_CASE("the lines behind an exception tell one hint from another") {
  CHECK_THAT(
      hint_of(kOneFrame + kWeights + "Unsupported operand 118\n\nCheck the documentation.\n"),
      contains("the checkpoint is damaged"));
  CHECK_THAT(
      hint_of(kOneFrame + kWeights + "Unsupported operand 149\n\nCheck the documentation.\n"),
      contains("weights_only=False"));
}

TEST_CASE("the lines behind an exception give no hint by themselves") {
  CHECK(hint_of(kOneFrame + "KeyError: 'x'\ntracker: No space left on device\n").empty());
}

}  // namespace
}  // namespace ddprun
