#include "base/system/startup_pages.hpp"

#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

/// How many KiB of files this process has in memory.
long files_in_memory() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssFile:"))
      return std::stol(line.substr(line.find_first_of("0123456789")));
  return 0;
}

TEST_CASE("what only the start has needed leaves memory, and comes back when it is needed") {
  const long before = files_in_memory();
  give_back_startup_pages();
  const long after = files_in_memory();
  INFO("from " << before << " KiB to " << after);
  CHECK(after < before * 3 / 4);
  std::ostringstream text;  // code, constants and data are all as before
  text << "π is about " << 3.14159;
  CHECK(text.str() == "π is about 3.14159");
}

}  // namespace
}  // namespace ddprun
