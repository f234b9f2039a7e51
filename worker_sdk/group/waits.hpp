// Waits: how many calls of this process wait for other ranks.
#pragma once

#include <cstdint>

namespace ddprun::sdk {

/// How many waits have begun, and have ended, since the process was started.
struct Waits {
  std::uint64_t begun = 0;
  std::uint64_t ended = 0;
  bool operator==(const Waits&) const = default;
};

/// Any thread may call it.
Waits waits_for_ranks();

/// A call waits as long as this exists.
class Wait {
 public:
  Wait();
  ~Wait();
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
};

}  // namespace ddprun::sdk
