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

/// What a word in front of the script says about the words behind it.
struct OptionWord {
  enum class Kind {
    kAlone,      // nothing
    kTakesNext,  // the next one is its value
    kNoFile,     // the program runs a text, or what it reads from stdin
    kModule,     // a module is run
    kLast,       // the next one is the script
  };
  Kind kind = Kind::kAlone;
  std::string_view module;  // its name, where that is in the same word
};

/// Python takes letters that stand together, and the value of the last one in the same word:
/// https://docs.python.org/3/using/cmdline.html.
OptionWord python_option(std::string_view word) {
  using enum OptionWord::Kind;
  if (word == "--") return {kLast};
  if (word == "-") return {kNoFile};
  if (word == "--check-hash-based-pycs") return {kTakesNext};
  const std::size_t at = word.starts_with("--") ? word.npos : word.find_first_of("cmWX", 1);
  if (at == word.npos) return {};
  const std::string_view rest = word.substr(at + 1);
  if (word[at] == 'c') return {kNoFile};
  if (word[at] == 'm') return {kModule, rest};
  return {rest.empty() ? kTakesNext : kAlone};
}

/// A shell takes the text of -c from where the options end, and the value of -o from the next word,
/// whichever letters stand beside these.
OptionWord shell_option(std::string_view word) {
  using enum OptionWord::Kind;
  if (word == "-" || word == "--") return {kLast};
  if (word == "--rcfile" || word == "--init-file") return {kTakesNext};
  if (word.starts_with("--")) return {};
  if (word.front() == '-' && word.find_first_of("cs") != word.npos) return {kNoFile};
  return {word.find_first_of("oO") != word.npos ? kTakesNext : kAlone};
}

}  // namespace

ProgramWords program_words(const LaunchSpec& spec) {
  using enum OptionWord::Kind;
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
  OptionWord option;
  for (; word != end && option.kind < kModule; ++word) {
    if (!word->starts_with('-') && (words.python || !word->starts_with('+'))) break;
    option = words.python ? python_option(*word) : shell_option(*word);
    if (option.kind == kNoFile) return program_itself();
    if (option.kind == kTakesNext && word + 1 != end) ++word;
  }
  if (!option.module.empty()) {
    words.module = option.module;
  } else {
    if (word == end) return program_itself();
    (option.kind == kModule ? words.module : words.file) = *word++;
  }
  words.arguments.assign(word, end);
  return words;
}

}  // namespace ddprun
