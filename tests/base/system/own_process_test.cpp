#include "base/system/own_process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("a process's environment is read as it is now") {
  REQUIRE(::setenv("DDPRUN_BASE_TEST", "a=b c", 1) == 0);
  CHECK(std::ranges::count(own_environment(), "DDPRUN_BASE_TEST=a=b c") == 1);
  REQUIRE(::unsetenv("DDPRUN_BASE_TEST") == 0);
  CHECK(std::ranges::count(own_environment(), "DDPRUN_BASE_TEST=a=b c") == 0);
}

TEST_CASE("a variable that is taken is gone, and overwritten where it was") {
  REQUIRE(::setenv("DDPRUN_BASE_TEST", "hidden", 1) == 0);
  const char* const place = ::getenv("DDPRUN_BASE_TEST");
  CHECK(take_variable("DDPRUN_BASE_TEST") == "hidden");
  CHECK(std::string(place, 6) == std::string(6, '\0'));
  CHECK(::getenv("DDPRUN_BASE_TEST") == nullptr);
  CHECK_FALSE(take_variable("DDPRUN_BASE_TEST").has_value());
}

TEST_CASE("only the variable of exactly that name is taken") {
  REQUIRE(::setenv("DDPRUN_BASE_TEST2", "stays", 1) == 0);
  CHECK_FALSE(take_variable("DDPRUN_BASE_TEST").has_value());
  CHECK(std::string{::getenv("DDPRUN_BASE_TEST2")} == "stays");
  REQUIRE(::unsetenv("DDPRUN_BASE_TEST2") == 0);
}

TEST_CASE("a process's path is that of its executable") {
  CHECK(std::filesystem::path{own_path()}.is_absolute());
  CHECK(std::filesystem::equivalent(own_path(), "/proc/self/exe"));
}

TEST_CASE("temporary files go to TMPDIR, or to a folder that every machine has") {
  const auto folders = [](std::optional<std::string> tmpdir) {
    return temporary_folders(
        [&](const std::string& name) { return name == "TMPDIR" ? tmpdir : std::nullopt; });
  };
  CHECK(folders("/scratch") == std::vector<std::string>{"/scratch", "/tmp", "/var/tmp"});
  CHECK(folders("") == std::vector<std::string>{"/tmp", "/var/tmp"});
  CHECK(folders(std::nullopt) == std::vector<std::string>{"/tmp", "/var/tmp"});
}

TEST_CASE("the machine's name is the one that the kernel has, without padding") {
  const std::string name = host_name();
  CHECK_FALSE(name.empty());
  CHECK(name.find('\0') == std::string::npos);
  char expected[256] = {};
  REQUIRE(::gethostname(expected, sizeof expected - 1) == 0);
  CHECK(name == expected);
}

TEST_CASE("a process that the system does not limit may start threads") {
  CHECK(may_start_threads().has_value());
}

TEST_CASE("a standard file that is closed becomes /dev/null, and the others stay") {
  const pid_t pid = fork();
  if (pid == 0) {
    close(STDIN_FILENO);
    close(STDERR_FILENO);
    open_standard_files();
    const bool right = std::filesystem::read_symlink("/proc/self/fd/0") == "/dev/null" &&
                       std::filesystem::read_symlink("/proc/self/fd/2") == "/dev/null";
    _exit(right ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  CHECK(status == 0);
}

}  // namespace
}  // namespace ddprun
