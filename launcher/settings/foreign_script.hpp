// Recognizes a file that Python cannot run: a compiled program, or a script for another
// interpreter. Whatever Python might run is left to Python. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ddprun {

/// What a regular file begins and ends with. Both are empty where there is nothing to say.
struct FileEnds {
  std::string head;
  std::string tail;
};

/// Returns what the file is in place of a Python script: "a program, not a Python script" or "a
/// script for bash, not for Python"; "": Python may be able to run it.
std::string foreign_kind(std::string_view path, const FileEnds& ends);

/// Returns the words that run such a file: "--no-python ./mine".
std::string words_for_program(std::string_view path);

}  // namespace ddprun
