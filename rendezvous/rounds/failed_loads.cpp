#include "rendezvous/rounds/failed_loads.hpp"

#include <csignal>

namespace ddprun {

namespace {

/// Whether the program has failed by itself: its state has nothing to do with a lost node, or with
/// a signal that somebody sends.
bool is_of_program(const Cause& cause) {
  switch (cause.kind) {
    case FailureKind::kExitCode:
    case FailureKind::kException:
      return true;
    case FailureKind::kSignal:
      return cause.status.signal == SIGSEGV || cause.status.signal == SIGABRT ||
             cause.status.signal == SIGBUS || cause.status.signal == SIGFPE ||
             cause.status.signal == SIGILL;
    default:
      return false;
  }
}

}  // namespace

void FailedLoads::begin_round(const RoundCheckpoint& from) {
  if (from.older) failing_.insert(loaded_);
  if (from.number != loaded_) forget_failures();
  loaded_ = from.number;
  has_newer_ = false;
}

void FailedLoads::forget_failures() {
  fingerprint_.clear();
  alike_ = 0;
}

std::set<int> FailedLoads::failing_with_last() const {
  std::set<int> numbers = failing_;
  numbers.insert(loaded_);
  return numbers;
}

void FailedLoads::failed(const Cause* cause, std::int64_t steps) {
  if (cause == nullptr || cause->fingerprint.empty() || !is_of_program(*cause) || steps > kSoon)
    return forget_failures();
  alike_ = cause->fingerprint == fingerprint_ ? alike_ + 1 : 1;
  fingerprint_ = cause->fingerprint;
  told_steps_ = steps >= 0;
}

}  // namespace ddprun
