#include "launcher/live/output_reader.hpp"

#include <fcntl.h>

#include <memory>

#include "base/descriptor.hpp"
#include "tests/support/event_loop.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

/// Begins to wait for the reader to leave; what it returns becomes true when he has.
std::shared_ptr<bool> wait_for_leave(EventLoop& loop, int fd) {
  auto gone = std::make_shared<bool>(false);
  const auto wait = [](int of, std::shared_ptr<bool> done) -> asio::awaitable<void> {
    co_await reader_leaves(of);
    *done = true;
  };
  asio::co_spawn(loop.executor(), wait(fd, gone), [](const std::exception_ptr&) {});
  return gone;
}

TEST_CASE("that the reader of a pipe leaves is heard, also where nothing is written") {
  EventLoop loop;
  Pipe pipe;
  const auto gone = wait_for_leave(loop, pipe.writer());
  loop.poll();
  CHECK_FALSE(*gone);
  pipe.close_reader();
  loop.run_until([&] { return *gone; }, "the news that the reader has left");
  const auto later = wait_for_leave(loop, pipe.writer());
  loop.run_until([&] { return *later; }, "the same news, asked for later");
}

TEST_CASE("no reader leaves a file") {
  const ScratchFolder folder;
  EventLoop loop;
  for (const std::string& path : {(folder / "log").string(), std::string{"/dev/null"}}) {
    const Descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
    const auto gone = wait_for_leave(loop, file.number());
    loop.poll();
    loop.poll();
    CHECK_FALSE(*gone);
  }
}

}  // namespace
}  // namespace ddprun
