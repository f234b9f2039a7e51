#include "base/process/start_child.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "tests/support/probes.hpp"

namespace ddprun {
namespace {

TEST_CASE("a child on its way has its files, also when their owner has closed them") {
  const std::size_t before = count_open_files();
  {
    Pipe out, third;
    const Command says{"/bin/sh", {"sh", "-c", "echo out; echo third >&3"}, {}, {}};
    std::optional<OwnFiles> own{std::in_place,
                                NewChild{says, {.out = out.writer()}, {third.writer()}}};
    out.close_writer();
    third.close_writer();
    Pipe other;  // has their numbers
    const StartedChild child = own->start(says);
    REQUIRE(child.error_number == 0);
    own.reset();
    CHECK(out.rest("its output") == "out\n");
    CHECK(third.rest("its file") == "third\n");
    close(child.pidfd);
    CHECK(waitpid(child.pid, nullptr, 0) == child.pid);
  }
  CHECK(count_open_files() == before);
}

TEST_CASE("a child whose files cannot be opened once more does not run without them") {
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  Pipe out;
  const NewChild child{probe({"exit", "0"}), {.out = out.writer()}};
  const rlimit none{.rlim_cur = 3, .rlim_max = limit.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  const StartedChild started = OwnFiles{child}.start(child.command);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK(started.error_number == EMFILE);
  CHECK(started.pid == -1);
}

}  // namespace
}  // namespace ddprun
