#include "launcher/record/program_words.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

ProgramWords words_in(const std::string& program, std::vector<std::string> arguments) {
  return program_words({.program = program, .arguments = std::move(arguments)});
}

TEST_CASE("the script of Python is the first word that is no option of Python's") {
  const std::string python = "/venv/bin/python3";
  CHECK(words_in(python, {python, "-u", "train.py", "--lr", "1"}) ==
        ProgramWords{true, "", "train.py", {"--lr", "1"}});
  CHECK(words_in(python, {"python3", "-X", "dev", "-O", "train.py"}).file == "train.py");
  CHECK(words_in(python, {python, "-u", "-m", "my.job", "-m"}) ==
        ProgramWords{true, "my.job", "", {"-m"}});
}

TEST_CASE("a shell is seen through, and its words are not") {
  CHECK(words_in("/bin/sh", {"sh", "-e", "run.sh", "1"}) ==
        ProgramWords{false, "", "run.sh", {"1"}});
  CHECK(words_in("/bin/sh", {"sh", "-c", "exit 1"}) ==
        ProgramWords{false, "", "/bin/sh", {"-c", "exit 1"}});
}

TEST_CASE("any other program is the script") {
  CHECK(words_in("./train_digits", {"train_digits", "8"}) ==
        ProgramWords{false, "", "./train_digits", {"8"}});
  CHECK(words_in("/bin/true", {"true"}) == ProgramWords{false, "", "/bin/true", {}});
  CHECK(words_in("/usr/bin/python3", {"python3"}).file == "/usr/bin/python3");
  CHECK(words_in("/bin/true", {}).file == "/bin/true");
}

}  // namespace
}  // namespace ddprun
