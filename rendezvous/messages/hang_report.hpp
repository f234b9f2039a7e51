// HangReport: workers that hang, who waits for whom, and at which line each of them is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ddprun {

/// A report shows at most this many different stacks.
inline constexpr std::size_t kStackGroupsMax = 12;

/// A state that keeps a worker from anything, whatever it wants to do.
enum class HeldUp {
  kNo,
  kFailed,  // it is not waited for, and it does not wait
  kGaveUp,  // it has failed as well, because it has waited in vain
  kEnded,
  kStopped,    // by a signal or a debugger
  kInKernel,   // where no signal reaches it
  kKeepsLock,  // the interpreter's, in native code
};

/// Workers in the same state, at the same place.
struct StackGroup {
  std::string ranks;  // "0,2-5"
  HeldUp held_up = HeldUp::kNo;
  /// What they do, without a subject: "waits in gloo:all_reduce, number 2 of group default_pg".
  std::string doing;
  /// Their Python stack (else the native one), a frame a line, the innermost first:
  /// "FUNCTION<tab>FILE<tab>LINE"; "" when there is none.
  std::string stack;
  // These tell of the collective that they have entered, and that is not done.
  std::string operation;  // "gloo:all_reduce"; "": there is none
  std::string group;      // its name and description: "0 (default_pg)"
  std::int64_t sequence = 0;
  std::string shapes;  // "[[10]] float32", as far as it is known
  bool operator==(const StackGroup&) const = default;
};

struct HangReport {
  enum class Kind {
    kMissing,     // some wait in an operation that others have not entered
    kDeadlock,    // everybody waits
    kNoProgress,  // no rank waits, and none goes on
  };
  Kind kind = Kind::kMissing;
  std::string sentence;  // for people: one line
  std::string operation;
  std::string group;
  std::int64_t sequence = 0;
  std::string missing_ranks;  // "1", "3-7,9"; kDeadlock: the odd ones; "": none
  std::string waiting_ranks;
  std::int64_t silent_ms =
      0;  // how long nothing has gone on; 0: until a collective's time was over
  std::vector<StackGroup> stacks;  // the missing ranks' first; at most kStackGroupsMax
  /// What NCCL says is wrong, a line each. No message has it: the node of rank 0 has asked.
  std::vector<std::string> nccl;
  bool operator==(const HangReport&) const = default;
};

}  // namespace ddprun
