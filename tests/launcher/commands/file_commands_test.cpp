#include "launcher/commands/file_commands.hpp"

#include <boost/asio/io_context.hpp>

#include "agent/output/console.hpp"
#include "tests/support/captured_log.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

using sdk::CheckpointEntry;
using sdk::CheckpointManifest;
using sdk::CheckpointState;

std::string row_of(const CheckpointEntry& entry, std::int64_t now_unix_ms) {
  const std::string table = checkpoint_table({entry}, now_unix_ms);
  return table.substr(table.find('\n') + 1);
}

TEST_CASE("a checkpoint is a row of the table") {
  const CheckpointEntry entry{
      .step = 1200,
      .manifest = CheckpointManifest{.step = 1200,
                                     .epoch = 3,
                                     .world_size = 16,
                                     .created_unix_ms = 1'000'000,
                                     .files = {{"a", 1'100'000'000, ""}, {"b", 100'000'000, ""}}}};
  CHECK(row_of(entry, 1'005'999) == "1200      3          16  5 s  1.2 GB  complete\n");
}

TEST_CASE("ages and sizes have the unit that suits them") {
  CheckpointEntry entry{.manifest = CheckpointManifest{.files = {{"a", 999, ""}}}};
  CHECK_THAT(row_of(entry, 119'000), contains("119 s  999 B "));
  entry.manifest->files[0].bytes = 1000;
  CHECK_THAT(row_of(entry, 120'000), contains("2 min  1.0 kB "));
  entry.manifest->files[0].bytes = 999'600'000;
  CHECK_THAT(row_of(entry, 7'200'000), contains("2 h 0 min  1.0 GB "));
  CHECK_THAT(row_of(entry, 200'000'000), contains(" 2 d "));
  CHECK_THAT(row_of(entry, -5), contains(" 0 s "));
}

TEST_CASE("one that is not complete says why, also without a manifest") {
  CHECK(row_of({.step = 7, .state = CheckpointState::kIncomplete, .reason = "there is no manifest"},
               0) == "   7      -           -    -     -  incomplete: there is no manifest\n");
}

TEST_CASE("a folder without a checkpoint does not pass a verification") {
  const ScratchFolder folder;
  const CapturedLog log;
  asio::io_context io{1};
  Pipe pipe;
  Console console{io.get_executor(), pipe.writer()};
  const CommandContext context{io, console, console};
  const auto code = run_checkpoint({"verify", folder.path().string()}, context);
  REQUIRE(code.has_value());
  CHECK(*code == 1);
  CHECK_THAT(log.text(), contains("there is no checkpoint in '" + folder.path().string() + "'"));
}

TEST_CASE("the reason gives no orders to a terminal") {
  CHECK_THAT(row_of({.reason = "\x1b]0;owned\a is no file's name\n"}, 0),
             contains("\\x1b]0;owned\\x07 is no file's name\\x0a\n"));
}

}  // namespace
}  // namespace ddprun
