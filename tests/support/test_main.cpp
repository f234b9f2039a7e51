// Runs the cases of a test program. One that asserts nothing has failed: it may have returned
// early, and nobody would notice. A case that cannot run here says so with SUCCEED() or SKIP().
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include <iostream>

#include "tests/support/catch.hpp"

namespace {

int empty_cases = 0;

#if __has_include(<catch2/catch_all.hpp>)
using Listener = Catch::EventListenerBase;
const std::string& name_of(const Catch::TestCaseStats& stats) { return stats.testInfo->name; }
#else
using Listener = Catch::TestEventListenerBase;
const std::string& name_of(const Catch::TestCaseStats& stats) { return stats.testInfo.name; }
#endif

class EmptyCases : public Listener {
 public:
  using Listener::Listener;
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    Listener::testCaseEnded(stats);
    if (stats.aborting || stats.totals.assertions.total() > 0) return;
    ++empty_cases;
    std::cerr << "FAILED: the case '" << name_of(stats) << "' has asserted nothing" << std::endl;
  }
};
CATCH_REGISTER_LISTENER(EmptyCases)

}  // namespace

int main(int argc, char** argv) {
  const int result = Catch::Session().run(argc, argv);
  return result == 0 && empty_cases > 0 ? 1 : result;
}
