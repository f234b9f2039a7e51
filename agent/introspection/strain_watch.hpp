// StrainWatch: what kept this node's workers from their work between two looks. The kernel is asked
// in a thread of its own, which it may keep for a while.
#pragma once

#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>

#include "base/asio.hpp"
#include "base/clock.hpp"
#include "base/strain_rates.hpp"
#include "base/system/left_behind.hpp"

namespace ddprun {

class StrainWatch {
 public:
  StrainWatch();

  /// What it was since this was asked of the process before; nullopt the first time, and where
  /// there is no answer by `deadline`.
  asio::awaitable<std::optional<StrainRates>> since_last_look(pid_t pid, TimePoint deadline);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  LeftBehindQueue queue_;
};

}  // namespace ddprun
