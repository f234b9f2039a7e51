#include "agent/checkpoints/disk_writer.hpp"

#include <boost/asio/io_context.hpp>
#include <chrono>

#include "base/coroutines.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

TEST_CASE("two that wait for a disk leave the processor to others") {
  const ScratchFolder scratch;
  asio::io_context loop{1};
  DiskWriter disk{
      loop.get_executor(),
      {.folder = (scratch / "out").string(), .disk = (scratch / "disk").string(), .shared = true},
      [] {}};
  const auto ignore = [](const Result<void>&) {};
  // Nobody writes it, so each waits until the other has waited in vain.
  for (int reader = 0; reader < 2; ++reader)
    start_coroutine(loop, then(disk.read(1), ignore), report_failure("the test"));
  CHECK(loop.run_for(std::chrono::milliseconds{300}) < 100);
}

}  // namespace
}  // namespace ddprun
