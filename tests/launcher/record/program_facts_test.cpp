#include "launcher/record/program_facts.hpp"

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

TEST_CASE("a virtual environment has the version of its Python, whichever tool made it") {
  CHECK(python_version_of_venv("home = /usr/bin\nversion = 3.11.2\n") == "3.11.2");
  CHECK(python_version_of_venv("version_info = 3.12.1.final.0\n") == "3.12.1");
  CHECK(python_version_of_venv("home = /usr/bin\r\nversion_info=3.12.1\r\n") == "3.12.1");
  CHECK(python_version_of_venv("") == "");
  CHECK(venv_value("home = /usr/bin\n", "home") == "/usr/bin");
}

TEST_CASE("the names of Python and of its folder tell its version") {
  CHECK(python_version_in_name("python3.11") == "3.11");
  for (const char* name : {"python3", "python", "python3.", "python.3", "python3.x", "perl5.3", ""})
    CHECK(python_version_in_name(name) == "");
  CHECK(python_version_of_folder("3.11", "cpython-3.11.4-linux") == "3.11.4");
  CHECK(python_version_of_folder("3.11", "3.11.9") == "3.11.9");
  CHECK(python_version_of_folder("3.11", "usr") == "3.11");
  CHECK(python_version_of_folder("", ".1") == "");
}

TEST_CASE("torch's version is found in its file") {
  CHECK(torch_version_in("__all__ = ['__version__']\n__version__ = '2.11.0+cpu'\n") ==
        "2.11.0+cpu");
  CHECK(torch_version_in("__version__: str = \"2.4.1\"") == "2.4.1");
  CHECK(torch_version_in("__version__ = 'open") == "");
  CHECK(torch_version_in("") == "");
}

TEST_CASE("the driver's version is the first number with points") {
  CHECK(driver_version_in("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n"
                          "GCC version:  gcc version 12.2.0\n") == "535.104.05");
  CHECK(
      driver_version_in("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  R") ==
      "560.35.03");
  CHECK(driver_version_in("GCC\n1.2.3") == "");
}

}  // namespace
}  // namespace ddprun
