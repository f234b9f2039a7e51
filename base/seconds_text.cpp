#include "base/seconds_text.hpp"

#include <fmt/format.h>

namespace ddprun {

std::string seconds_text(std::chrono::milliseconds time) {
  return fmt::format("{:g} s", static_cast<double>(time.count()) / 1000);
}

}  // namespace ddprun
