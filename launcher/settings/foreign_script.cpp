#include "launcher/settings/foreign_script.hpp"

#include <algorithm>
#include <array>
#include <sstream>

namespace ddprun {

namespace {

constexpr std::string_view kElf =
    "\x7f"
    "ELF";
// A zip ends with such a record. Python runs a zip whatever stands before it, as in a .pex file
// that also is a shell script.
constexpr std::string_view kEndOfZip = "PK\5\6";

// Python ignores the first line of a script, so the interpreters that it names count only if they
// are surely none. A wrapper of Python may have any other name, as `uv`.
constexpr std::array<std::string_view, 15> kForeignInterpreters{
    "sh",  "ash",  "bash", "dash", "ksh",  "mksh",    "zsh",  "fish",
    "csh", "tcsh", "perl", "ruby", "node", "Rscript", "julia"};

/// Returns the name of the program in "#!/usr/bin/env -S bash -e".
std::string interpreter_in(std::string_view first_line) {
  std::istringstream words{std::string{first_line.substr(2)}};
  for (std::string word; words >> word;) {
    std::string name = word.substr(word.rfind('/') + 1);  // npos + 1 is 0
    if (name == "env" || word.starts_with('-') || word.find('=') != std::string::npos) continue;
    return name;
  }
  return "";
}

/// Whether a shell script may be a Python script as well: pip writes '''exec' and the path of a
/// Python into the second line where that path is too long for the first one.
bool is_python_too(std::string_view behind_first_line) {
  std::istringstream lines{std::string{behind_first_line}};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    return line.front() == '\'' || line.front() == '"' || line.find("'''") != std::string::npos ||
           line.find("\"\"\"") != std::string::npos;
  }
  return false;
}

}  // namespace

std::string foreign_kind(std::string_view path, const FileEnds& ends) {
  const std::string_view head = ends.head;
  if (ends.tail.find(kEndOfZip) != std::string::npos) return "";
  if (head.starts_with(kElf)) return "a program, not a Python script";
  if (!head.starts_with("#!") || path.ends_with(".py")) return "";
  const std::size_t line_end = std::min(head.find('\n'), head.size());
  const std::string interpreter = interpreter_in(head.substr(0, line_end));
  if (std::ranges::count(kForeignInterpreters, interpreter) == 0) return "";
  if (is_python_too(head.substr(line_end))) return "";
  return "a script for " + interpreter + ", not for Python";
}

std::string words_for_program(std::string_view path) {
  const bool in_path = path.find('/') == std::string_view::npos;  // where a bare name is looked for
  return std::string{"--no-python "} + (in_path ? "./" : "") + std::string{path};
}

}  // namespace ddprun
