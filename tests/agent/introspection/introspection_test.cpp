#include "agent/introspection/introspection.hpp"

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;

struct Watched {
  ScratchFolder scratch;
  asio::io_context io;
  Introspection introspection{io.get_executor(),
                              *WatchFolder::make(scratch.path()),
                              {},
                              {.process = [](int) { return WatchedProcess{}; },
                               .add_reported = [](int, WorkerLook&) {},
                               .changed = [](const RankProgress&) {}}};

  fs::path touch(const std::string& name) const {
    const fs::path file = fs::path{introspection.folder()} / name;
    std::ofstream made{file};
    return file;
  }
};

TEST_CASE("a worker that has opened its files before it is watched keeps them") {
  Watched watched;
  const fs::path file = watched.touch("1.0.100.stacks");
  watched.introspection.begin_round(1, {0});
  CHECK(fs::exists(file));
}

TEST_CASE("what the workers of a round have left is removed with its end") {
  Watched watched;
  watched.introspection.begin_round(1, {0});
  const fs::path file = watched.touch("1.0.100.sock");
  watched.introspection.end_round();
  CHECK_FALSE(fs::exists(file));
}

}  // namespace
}  // namespace ddprun
