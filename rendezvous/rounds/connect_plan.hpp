// ConnectPlan decides how long somebody goes on trying to reach the coordinator, and how long the
// pauses between attempts are. Pure: who connects tells it how each attempt ended, and when.
#pragma once

#include <chrono>
#include <optional>

#include "base/clock.hpp"

namespace ddprun {

/// How long to go on trying.
struct Patience {
  std::chrono::milliseconds any{};      // whatever the reason
  std::chrono::milliseconds refused{};  // while the host is there and nobody listens
  bool operator==(const Patience&) const = default;
};

class ConnectPlan {
 public:
  static constexpr std::chrono::milliseconds kFirstPause{10};
  static constexpr std::chrono::milliseconds kLongestPause{1'000};

  /// How an attempt failed. A refusal is an answer: the host is there, and nobody listens.
  enum class Failure { kRefused, kOther };

  ConnectPlan(Patience patience, TimePoint now);

  /// An attempt that has no answer by then has failed, and is the last one.
  TimePoint deadline() const { return deadline_; }

  /// How long to wait before the next attempt; nullopt: there is no next one, because it would
  /// begin after the patience has ended. Each pause is twice the last one, up to kLongestPause.
  /// Whatever is no refusal begins the patience with refusals anew.
  std::optional<std::chrono::milliseconds> pause_after(Failure failure, TimePoint now);

 private:
  std::chrono::milliseconds refused_patience_;
  TimePoint deadline_;
  TimePoint refused_until_;
  std::chrono::milliseconds pause_ = kFirstPause;
};

}  // namespace ddprun
