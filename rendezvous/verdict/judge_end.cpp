#include "rendezvous/verdict/judge_end.hpp"

#include <algorithm>
#include <csignal>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "rendezvous/verdict/consequences.hpp"
#include "rendezvous/verdict/find_crash.hpp"
#include "rendezvous/verdict/hints.hpp"
#include "rendezvous/verdict/text_lines.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kStackBytesMax = 900;
constexpr std::size_t kSaysBytesMax = 300;
constexpr std::chrono::seconds kPrintedBeforeExitMax{3};
constexpr std::initializer_list<int> kOurs{SIGTERM, SIGKILL, SIGINT, SIGHUP, SIGQUIT};
constexpr char kMoreMemory[] =
    "more memory for the job (its cgroup's limit), fewer workers or data loaders, or a smaller "
    "batch";
constexpr int kShellSignal = 128;  // a shell exits with so much more than its program's signal

bool is_one_of(int signal, std::initializer_list<int> signals) {
  return std::ranges::find(signals, signal) != signals.end();
}

/// A crash, and when the worker began to write it.
struct Seen {
  Crash crash;
  std::optional<TimePoint> came;
};

std::optional<Seen> seen_in(const StreamEnd& stream, const ExitStatus& status, TimePoint ended) {
  const auto written_late = [&](std::size_t offset) {
    const auto came = stream.came(offset);
    return came && ended - *came <= kTearDownMax;
  };
  auto crash = find_crash(stream.text, status, written_late);
  if (!crash) return std::nullopt;
  const auto came = stream.came(crash->begin);
  return Seen{std::move(*crash), came};
}

/// The exception that the worker recorded. Its record has no time of its own; the same text may be
/// on a stream, too.
std::optional<Seen> recorded(const EndClues& clues, const std::optional<Seen>& written) {
  if (clues.message.empty() && clues.traceback.empty()) return std::nullopt;
  auto crash = find_recorded_crash(clues.traceback);
  const auto came = written ? written->came : std::nullopt;
  if (crash) return Seen{std::move(*crash), came};
  const std::size_t colon = clues.message.find(": ");
  Fault fault;
  if (colon == std::string::npos) {
    fault.message = clues.message;
  } else {
    fault.type = clues.message.substr(0, colon);
    fault.message = clues.message.substr(colon + 2);
  }
  Crash bare;
  bare.raised.push_back({std::move(fault), {}});
  return Seen{std::move(bare), came};
}

/// An uncaught exception ends Python with code 1, which a shell may turn into another
/// one. A program that prints one and exits with a code of its own does that at once; else it has
/// gone on meanwhile.
bool is_long_past(const EndClues& clues, const Seen& seen) {
  const bool own_code = clues.status.signal == 0 && clues.status.code != 1;
  const auto most = seen.crash.uncaught ? kTearDownMax : kPrintedBeforeExitMax;
  return own_code && seen.came && clues.ended - *seen.came > most;
}

std::optional<Seen> seen_by(const EndClues& clues) {
  // A worker that got our signal is read as one that ends with an exception: it may have been
  // tearing itself down by then.
  const bool by_us = clues.stop_sent && is_one_of(clues.status.signal, kOurs);
  const ExitStatus status = by_us ? ExitStatus{.code = 2} : clues.status;
  auto written = seen_in(clues.err, status, clues.ended);
  if (!written) written = seen_in(clues.out, status, clues.ended);
  if (clues.status.signal == SIGKILL && !clues.stop_sent) return std::nullopt;
  if (written && is_long_past(clues, *written)) written.reset();
  auto record = recorded(clues, written);
  return record ? record : written;
}

std::string as_printed(const Fault& fault) { return fault.type + ": " + fault.message; }

/// Whether the program's own watchdog has ended it while it waited for other ranks.
bool waits_for_ranks(const Crash& crash) {
  const std::vector<Frame>& frames = crash.raised.front().frames;
  return !frames.empty() && has(frames.front().file, "/torch/distributed/");
}

/// The consequence in all that was raised. An exception that is raised while another one is dealt
/// with follows from that one.
Consequence consequence_of(const Crash& crash) {
  if (crash.source == Crash::Source::kWatchdog)
    return waits_for_ranks(crash) ? Consequence::kCollectiveTimedOut : Consequence::kNone;
  return consequence_in(as_printed(crash.raised.front().fault));
}

/// The exception to name: the last that was raised, because that ended the program, unless it only
/// shows that others are gone, too.
const Raised& to_name(const Crash& crash) {
  for (auto each = crash.raised.rbegin(); each != crash.raised.rend(); ++each)
    if (consequence_in(as_printed(each->fault)) == Consequence::kNone) return *each;
  return crash.raised.back();
}

/// The hint for what is named, else for what else was raised. The lines behind an exception may be
/// of its message, or not: they do no more than tell one hint from another.
std::string_view hint_in(const Crash& crash) {
  const Raised& named = to_name(crash);
  const std::string said = as_printed(named.fault);
  std::vector<std::string> chain{said};
  if (&named == &crash.raised.back() && !hint_for(said).empty()) chain[0] += "\n" + crash.behind;
  for (auto each = crash.raised.rbegin(); each != crash.raised.rend(); ++each)
    if (&*each != &named) chain.push_back(as_printed(each->fault));
  return hint_for(chain);
}

/// The signal that ended it, also where a shell tells of it as a code.
int signal_of(const ExitStatus& status) {
  return status.signal != 0 ? status.signal : std::max(0, status.code - kShellSignal);
}

/// Another process asked it to end, or the reader of its output is gone.
bool is_sent_by_others(const ExitStatus& status) {
  return is_one_of(signal_of(status), {SIGTERM, SIGHUP, SIGINT, SIGPIPE});
}

/// A consequence for people, with the signal's name.
std::string says_of(Consequence consequence, const ExitStatus& status) {
  if (consequence != Consequence::kForeignSignal) return std::string{text_of(consequence)};
  return "ended by " + signal_name(signal_of(status)) + ", which ddprun has not sent";
}

bool cannot_start(const EndClues& clues) {
  if (!clues.started) return true;
  if (clues.status.code != 126 && clues.status.code != 127) return false;
  return has_any(clues.err.text, {"not found", "No such file", "ermission denied", "cannot execute",
                                  "loading shared libraries"});
}

/// A program writes to stdout what it likes, and its last line there is no reason for its end
/// unless it sounds like one. Returns "" where it does not.
std::string complaint_in(std::string line) {
  constexpr std::string_view kComplaints{
      "error|fail|exception|fatal|abort|cannot|can't|could not|couldn't|unable|invalid|denied|"
      "refused|no such|not found|missing|timed out|timeout|corrupt|panic|assert|exhausted|is full"};
  const std::string small = lower_case(line);
  const bool complains =
      matches_one(small, kComplaints) || consequence_in(line) != Consequence::kNone;
  return complains ? std::move(line) : "";
}

class Judge {
 public:
  explicit Judge(const EndClues& clues) : clues_{clues}, seen_{seen_by(clues)} {}

  WorkerEnd judge() {
    end_.ranks = std::to_string(clues_.rank);
    end_.status = clues_.status;
    end_.ended_us = end_.began_us = microseconds(clues_.ended);
    end_.says = end_.fault.message = last_words(clues_.err.text);
    if (end_.says.empty()) end_.says = complaint_in(last_words(clues_.out.text));
    if (clues_.status.ok()) {
      end_.blame = clues_.stop_sent ? Blame::kStopped : Blame::kDone;
      end_.says.clear();  // a program that ends well may say what it likes
      end_.fault = {};
      if (end_.blame == Blame::kDone) note_swallowed();
      return std::move(end_);
    }
    decide_kind();
    decide_hint();
    decide_blame();
    if (end_.blame == Blame::kStopped) end_.hint.clear();
    end_.says = cut(end_.says, {kSaysBytesMax});
    return std::move(end_);
  }

 private:
  /// A program that ends well may have printed an exception at its end without failing: it caught
  /// it, or a shell's pipe has lost the code. That counts if others lose this worker.
  void note_swallowed() {
    if (!seen_ || seen_->crash.source != Crash::Source::kPython) return;
    if (consequence_of(seen_->crash) != Consequence::kNone) return;
    name_fault();
    end_.hint = hint_in(seen_->crash);
  }

  void decide_kind() {
    if (clues_.status.signal != 0) end_.kind = FailureKind::kSignal;
    if (cannot_start(clues_)) {
      end_.kind = FailureKind::kCannotStart;
    } else if (!clues_.kernel.empty()) {
      end_.kind = FailureKind::kOutOfMemory;
      end_.says = clues_.kernel;
    } else if (!clues_.timer.empty()) {
      end_.says = end_.fault.message = clues_.timer;
    } else if (seen_) {
      name_fault();
    }
  }

  /// A fatal signal is what it is, also where a library or Python has said which one.
  void name_fault() {
    const Raised& raised = to_name(seen_->crash);
    end_.fault = raised.fault;
    end_.stack = stack_text(raised.frames, kStackBytesMax);
    const Crash::Source source = seen_->crash.source;
    if (source == Crash::Source::kWatchdog)
      end_.says = end_.fault.message;
    else if (source != Crash::Source::kNative || seen_->crash.thrown || clues_.status.signal == 0)
      end_.kind = FailureKind::kException;
    if (seen_->came) end_.began_us = std::min(end_.began_us, microseconds(*seen_->came));
  }

  void decide_blame() {
    end_.blame = Blame::kStopped;
    if (clues_.stop_sent && !failed_before_stop()) return;
    end_.consequence = what_follows();
    if (end_.consequence != Consequence::kNone) {
      end_.blame = Blame::kFollows;
      end_.says = says_of(end_.consequence, clues_.status);
    } else {
      const bool sure = !clues_.stop_sent || (seen_ && seen_->crash.uncaught);
      end_.blame = sure ? Blame::kOwn : Blame::kPerhaps;
    }
    // It was about to exit by itself, with the code of an exception.
    if (clues_.stop_sent && seen_ && end_.kind == FailureKind::kException &&
        is_one_of(clues_.status.signal, kOurs))
      end_.status = ExitStatus{.code = 1};
  }

  Consequence what_follows() const {
    if (!clues_.timer.empty()) return Consequence::kNone;
    if (end_.kind == FailureKind::kCannotStart || end_.kind == FailureKind::kOutOfMemory)
      return Consequence::kNone;
    if (seen_) return consequence_of(seen_->crash);
    if (is_sent_by_others(clues_.status)) return Consequence::kForeignSignal;
    return clues_.status.signal != 0 ? Consequence::kNone : consequence_in(end_.says);
  }

  /// Whether what it wrote before our signal shows that it was ending already.
  bool failed_before_stop() const {
    if (end_.kind == FailureKind::kOutOfMemory || !clues_.timer.empty()) return true;
    if (seen_ && seen_->crash.logged && !seen_->crash.uncaught) return false;
    if (!seen_) return is_one_of(clues_.status.signal, {SIGSEGV, SIGBUS, SIGILL, SIGFPE});
    if (!seen_->came) return clues_.status.signal == 0 && clues_.status.code == 1;
    return *seen_->came < clues_.stop_sent_at && clues_.stop_sent_at - *seen_->came <= kTearDownMax;
  }

  void decide_hint() {
    if (!clues_.timer.empty()) return;
    if (end_.kind == FailureKind::kOutOfMemory) {
      end_.hint = kMoreMemory;
      return;
    }
    end_.hint = end_.fault.type.empty() ? hint_for(end_.says) : hint_in(seen_->crash);
    if (end_.hint.empty() && end_.fault.type.empty())
      end_.hint = hint_for_signal(clues_.status.signal);
    if (end_.hint.empty() && end_.kind == FailureKind::kExitCode && shell_told_signal())
      end_.hint = "a shell tells so that its program was killed by " +
                  signal_name(clues_.status.code - kShellSignal);
  }

  bool shell_told_signal() const {
    const int signal = clues_.status.code - kShellSignal;
    return is_one_of(signal, {SIGSEGV, SIGKILL, SIGABRT, SIGBUS, SIGILL, SIGFPE});
  }

  const EndClues& clues_;
  std::optional<Seen> seen_;
  WorkerEnd end_;
};

}  // namespace

WorkerEnd judge_end(const EndClues& clues) { return Judge{clues}.judge(); }

bool lost_a_peer(const WorkerEnd& end) {
  using enum Consequence;
  return end.consequence == kConnectionClosed || end.consequence == kConnectionReset ||
         end.consequence == kBrokenPipe || end.consequence == kNcclLostRank;
}

Explains explains(const WorkerEnd& end) {
  if (end.blame != Blame::kFollows || end.consequence == Consequence::kForeignSignal)
    return Explains::kCause;
  const bool waited = end.consequence == Consequence::kCollectiveTimedOut ||
                      end.consequence == Consequence::kStoreTimedOut;
  return waited ? Explains::kWaits : Explains::kNothing;
}

}  // namespace ddprun
