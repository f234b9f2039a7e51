#include "launcher/settings/foreign_script.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

std::string kind(const std::string& text, const std::string& path = "run") {
  return foreign_kind(path, {text, text});
}

const std::string kElf{
    "\x7f"
    "ELF\2\1\1",
    7};
const std::string kZip = "PK\5\6" + std::string(18, '\0');

TEST_CASE("a compiled program is no Python script, whatever its name") {
  CHECK(kind(kElf) == "a program, not a Python script");
  CHECK(kind(kElf, "train.py") == "a program, not a Python script");
}

TEST_CASE("a script for another interpreter is no Python script") {
  CHECK(kind("#!/bin/sh\necho\n") == "a script for sh, not for Python");
  CHECK(kind("#! /bin/bash -e\r\necho\n") == "a script for bash, not for Python");
  CHECK(kind("#!/usr/bin/env -S LC_ALL=C perl -w\n") == "a script for perl, not for Python");
  CHECK(kind("#!/bin/bash") == "a script for bash, not for Python");
  CHECK(kind("#!/bin/bash\n# '''\n\npython train.py\n") == "a script for bash, not for Python");
}

TEST_CASE("what Python may be able to run is left to it") {
  for (const char* text :
       {"", "print(1)\n", "\xef\xbb\xbfprint(1)\n", "#", "#!", "#!\n", "#!/usr/bin/env python3\n",
        "#!/opt/conda/bin/python\n", "#!/usr/bin/env -S uv run --script\n", "#!/usr/bin/pypy3\n",
        "#!/usr/bin/env\n", "#!/usr/bin/env my-own-wrapper\n", "# a comment\n", "\xa7\r\r\n"})
    CHECK(kind(text).empty());
}

TEST_CASE("a name that ends in .py says more than the first line, which Python ignores") {
  CHECK(kind("#!/bin/sh\n", "train.py").empty());
}

TEST_CASE("a shell script that starts Python with itself is a Python script, too") {
  CHECK(kind("#!/bin/sh\n'''exec' /a/long/path/python \"$0\" \"$@\"\n' '''\n").empty());
  CHECK(kind("#!/bin/sh\n# -*- coding: utf-8 -*-\n\n\"exec\" \"python3\" \"$0\"\n").empty());
  CHECK(kind("#!/bin/sh\nif \"true\" : '''\\'\nthen\n").empty());
}

TEST_CASE("an archive runs in Python, whatever stands before it") {
  CHECK(kind("PK\3\4" + kZip).empty());
  CHECK(kind("#!/bin/sh\nexec python3 \"$0\"\n" + kZip).empty());
  CHECK(kind(kElf + kZip).empty());
}

TEST_CASE("the words that run a program name it so that it is not looked for in PATH") {
  CHECK(words_for_program("mine") == "--no-python ./mine");
  CHECK(words_for_program("build/mine") == "--no-python build/mine");
}

}  // namespace
}  // namespace ddprun
