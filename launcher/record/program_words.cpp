#include "launcher/record/program_words.hpp"

#include <algorithm>
#include <string_view>

namespace ddprun {

namespace {

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

bool is_shell(std::string_view name) {
  return name == "sh" || name == "bash" || name == "dash" || name == "zsh";
}

}  // namespace

ProgramWords program_words(const LaunchSpec& spec) {
  const std::string_view name = base_name(spec.program);
  ProgramWords words{.python = name.starts_with("python")};
  auto word = spec.arguments.begin() + (spec.arguments.empty() ? 0 : 1);
  const auto end = spec.arguments.end();
  const auto program_itself = [&] {
    words.file = spec.program;
    words.arguments.assign(std::min(spec.arguments.begin() + 1, end), end);
    return words;
  };
  if (!words.python && !is_shell(name)) return program_itself();
  for (; word != end && word->starts_with('-') && *word != "-m"; ++word) {
    if (*word == "-c" || *word == "-" || *word == "--") return program_itself();
    const bool has_value = words.python && (*word == "-X" || *word == "-W");
    if (has_value && word + 1 != end) ++word;
  }
  const bool is_module = words.python && word != end && *word == "-m";
  if (is_module) ++word;
  if (word == end) return program_itself();
  (is_module ? words.module : words.file) = *word;
  words.arguments.assign(word + 1, end);
  return words;
}

}  // namespace ddprun
