#include "base/system/left_behind.hpp"

#include <system_error>
#include <thread>
#include <utility>

#include "base/system/no_signals.hpp"

namespace ddprun {

Result<void> start_left_behind(std::function<void()> work) {
  try {
    const NoSignals inherited;
    std::thread{std::move(work)}.detach();
    return {};
  } catch (const std::system_error& refused) {
    return Error{Error::Kind::kUnavailable, refused.what()};
  }
}

}  // namespace ddprun
