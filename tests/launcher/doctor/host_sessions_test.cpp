#include "launcher/doctor/ask/host_sessions.hpp"

#include <sys/resource.h>

#include "base/process/file_limit.hpp"
#include "base/process/query_process.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// A program that answers each line with its limit of open files.
const std::vector<std::string> kTellsLimit{
    "/bin/sh", "-c", "while read -r _; do echo \"{\\\"doctor\\\":$(ulimit -Sn)}\"; done"};

TEST_CASE(
    "there are sessions with more hosts than the files of the limit, and they keep that limit") {
  // The limit is that of a whole process, so another one has it.
  auto child = QueryProcess::start(60s, [] {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = 100;
    ::setrlimit(RLIMIT_NOFILE, &files);
    static_cast<void>(raise_file_limit("hosts", 0));
    HostSessions sessions;
    constexpr std::size_t kHosts = 60;
    for (std::size_t i = 0; i < kHosts; ++i) sessions.start(kTellsLimit, {});
    for (std::size_t i = 0; i < kHosts; ++i) sessions.send(i, "{}\n");
    sessions.wait_for_answers(50s);
    int answers = 0;
    for (std::size_t i = 0; i < kHosts; ++i) answers += sessions[i].answer == "{\"doctor\":100}";
    return std::to_string(answers);
  });
  CHECK(child.answer().value() == "60");
}

}  // namespace
}  // namespace ddprun
