// ConnectPlan decides how long to try to reach the coordinator, how long the pauses between
// attempts are, and when to tell the user that it takes long. Pure: the caller reports how each
// attempt ended, and when.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/clock.hpp"
#include "base/endpoint.hpp"
#include "base/result.hpp"

namespace ddprun {

/// How long to go on trying.
struct Patience {
  std::chrono::milliseconds any{};          // whatever the reason
  std::chrono::milliseconds refused{};      // while the host is there and refuses connections
  std::chrono::milliseconds answer{5'000};  // for the first word of the listener, in each attempt
  bool operator==(const Patience&) const = default;
};

/// An attempt that did not reach the coordinator.
struct FailedAttempt {
  enum class Why {
    kRefused,     // the host is there, and no process listens
    kUnresolved,  // its name has no address
    kNoAnswer,    // nothing came back in time, or there is no way to the host
    kSilent,      // somebody listens, and says nothing
    kHungUp,      // somebody listens, and ends the connection without a word
    kStranger,    // somebody listens, and says what no coordinator says
    kDenied,      // a coordinator listens, and has another secret or none; there is no next attempt
  };
  Why why = Why::kNoAnswer;
  std::string detail;  // words of the system or of the stranger; may be ""
};

/// Boost compiles this for value() of a result that may be a failed attempt. It is not called
/// without asking first.
[[noreturn]] inline void throw_exception_from_error(const FailedAttempt& attempt,
                                                    const boost::source_location&) {
  throw std::runtime_error{attempt.detail};
}

/// Returns a sentence, without its end, about what the attempt has found at the coordinator's
/// `endpoint`.
std::string describe(const FailedAttempt& attempt, const Endpoint& endpoint);

class ConnectPlan {
 public:
  static constexpr std::chrono::milliseconds kFirstPause{10};
  static constexpr std::chrono::milliseconds kLongestPause{1'000};
  /// The pause after that many others: each is twice the last one.
  static constexpr std::chrono::milliseconds pause_number(std::size_t others) {
    return std::min(kFirstPause * (1 << std::min<std::size_t>(others, 7)), kLongestPause);
  }
  /// A process that is ending may still take connections for a moment, and ends them. So a peer
  /// that hangs up is tried again this often, without any patience: it may be gone then.
  static constexpr int kHangUpsMax = 3;
  /// An attempt to connect that the network does not answer has failed after that. A fresh one may
  /// be answered at once, where the system would have repeated the lost packet only much later.
  static constexpr std::chrono::milliseconds kConnectTimeout{3'000};
  /// The first note to the user comes after this time, and further ones at such intervals.
  static constexpr std::chrono::milliseconds kFirstNote{2'000};
  static constexpr std::chrono::milliseconds kNoteInterval{30'000};

  ConnectPlan(Patience patience, TimePoint now);

  /// An attempt that has not succeeded by then has failed, and is the last one.
  TimePoint deadline() const { return deadline_; }

  /// When an attempt that begins now to connect, or to wait for the listener's first word, has
  /// failed.
  TimePoint connected_by(TimePoint now) const;
  TimePoint answered_by(TimePoint now) const;

  /// How long to wait before the next attempt; nullopt: there is no next one, because it would
  /// begin after the patience has ended. Each pause is twice the last one, up to kLongestPause. Any
  /// other outcome than a refusal restarts the patience with refusals. See also kHangUpsMax.
  std::optional<std::chrono::milliseconds> pause_after(FailedAttempt::Why why, TimePoint now);

  /// When the user gets the next note that the coordinator is not reached yet.
  TimePoint note_due() const { return note_due_; }

  /// Returns what to tell at `now`, where `last` is how the last attempt ended. The next note is
  /// due an interval later.
  std::string note(const FailedAttempt& last, const Endpoint& endpoint, TimePoint now);

 private:
  TimePoint gives_up() const;

  Patience patience_;
  TimePoint deadline_;
  TimePoint refused_until_;
  TimePoint note_due_;
  bool refused_ = false;  // the last attempt was
  int hang_ups_ = 0;
  std::chrono::milliseconds pause_ = kFirstPause;
};

}  // namespace ddprun
