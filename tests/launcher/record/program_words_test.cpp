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

TEST_CASE("the text of a command is no script, whichever letters stand beside the c") {
  const std::string text = "HF_TOKEN=hf_x python t.py";
  const auto is_itself = [&](const std::string& program, std::vector<std::string> options) {
    options.push_back(text);
    std::vector<std::string> arguments{program};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return words_in(program, arguments) ==
           ProgramWords{program.starts_with("python"), "", program, options};
  };
  using Options = std::vector<std::string>;
  for (const Options& options :
       {Options{"-c"}, Options{"-lc"}, Options{"-cl"}, Options{"-e", "-lc"},
        Options{"-eo", "pipefail", "-c"}, Options{"+e", "-c"}, Options{"--login", "-c"},
        Options{"-c", "-l"}, Options{"-s"}})
    CHECK(is_itself("bash", options));
  for (const Options& options :
       {Options{"-c"}, Options{"-uc"}, Options{"-W", "error", "-Bc"}, Options{"-"}})
    CHECK(is_itself("python3", options));
  CHECK(words_in("python3", {"python3", "-uc" + text}).file == "python3");
}

TEST_CASE("the value of an option is no script") {
  for (const char* option : {"-o", "+o", "-euo", "-O", "--rcfile"})
    CHECK(words_in("bash", {"bash", option, "pipefail", "x.sh", "1"}) ==
          ProgramWords{false, "", "x.sh", {"1"}});
  for (const char* option : {"-W", "-uX", "--check-hash-based-pycs"})
    CHECK(words_in("python3", {"python3", option, "always", "t.py"}).file == "t.py");
  for (const char* option : {"-Wcm", "-uXdev", "--cm"})
    CHECK(words_in("python3", {"python3", option, "t.py"}).file == "t.py");
  CHECK(words_in("bash", {"bash", "-o"}).file == "bash");
}

TEST_CASE("a module is one where its letter stands among others, too") {
  CHECK(words_in("python3", {"python3", "-um", "my.job", "1"}) ==
        ProgramWords{true, "my.job", "", {"1"}});
  CHECK(words_in("python3", {"python3", "-ummy.job", "1"}) ==
        ProgramWords{true, "my.job", "", {"1"}});
  CHECK(words_in("python3", {"python3", "-m"}).file == "python3");
}

TEST_CASE("two dashes end the options") {
  CHECK(words_in("python3", {"python3", "--", "t.py", "-c"}) ==
        ProgramWords{true, "", "t.py", {"-c"}});
  CHECK(words_in("sh", {"sh", "-e", "--", "x.sh"}).file == "x.sh");
  CHECK(words_in("sh", {"sh", "--"}).file == "sh");
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
