// run_until(): lets an event loop run until what a test waits for has happened.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>

#include "tests/support/catch.hpp"

namespace ddprun {

/// Runs `context` until `condition()` holds. When it does not within a minute, which no test needs,
/// the test fails and says `what` was waited for.
template <typename Condition>
void run_until(boost::asio::io_context& context, const std::string& what, Condition&& condition) {
  constexpr std::chrono::seconds kPatience{60};
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    context.restart();
    context.run_one_for(std::chrono::seconds{1});
    if (std::chrono::steady_clock::now() > give_up) FAIL("waited in vain until " << what);
  }
}

}  // namespace ddprun
