#include "agent/output/log_pump.hpp"
#include "tests/support/event_loop.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/probes.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

TEST_CASE("a log file that cannot be opened is named") {
  EventLoop loop;
  const Pipe pipe;
  Console console{loop.executor(), pipe.writer()};
  ScratchFolder folder;
  const std::size_t files_before = count_open_files();
  const std::filesystem::path absent = folder / "absent/stdout.log";
  const auto writer = LogWriter::make(loop.executor());
  for (const StreamPlan& plan :
       {StreamPlan{.file = absent}, StreamPlan{.filtered_file = absent, .filters = {"x"}}}) {
    const auto pump = LogPump::open(loop.executor(), console, plan, {}, writer);
    REQUIRE_FALSE(pump.has_value());
    CHECK(pump.error().kind == Error::Kind::kUnavailable);
    CHECK(pump.error().message ==
          "cannot open the log file '" + absent.string() + "': No such file or directory");
  }
  writer->end();
  CHECK(count_open_files() <= files_before);  // threads of earlier tests may have closed theirs
}

TEST_CASE("a pump that never begins leaves no file open") {
  EventLoop loop;
  const Pipe pipe;
  Console console{loop.executor(), pipe.writer()};
  const std::size_t files_before = count_open_files();
  for (const StreamPlan& plan : {StreamPlan{}, StreamPlan{.terminal = true}})
    CHECK(LogPump::open(loop.executor(), console, plan).has_value());
  CHECK(count_open_files() <= files_before);  // threads of earlier tests may have closed theirs
}

}  // namespace
}  // namespace ddprun
