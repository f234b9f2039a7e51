#include "launcher/record/program_facts.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

#include "base/text.hpp"

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

namespace {

constexpr std::string_view kBlanksOfLine = " \t\r";

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_version_character(char c) { return is_digit(c) || c == '.'; }

/// The part of a version that is numbers: "3.11.2" of "3.11.2.final.0".
std::string numbers_of(const std::string& version) {
  const auto end = std::ranges::find_if_not(version, is_version_character);
  std::string numbers{version.begin(), end};
  while (numbers.ends_with('.')) numbers.pop_back();
  return numbers;
}

}  // namespace

std::string venv_value(std::string_view text, std::string_view name) {
  for (const std::string& line : split_lines(std::string{text})) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos &&
        trimmed(std::string_view{line}.substr(0, equals), kBlanksOfLine) == name)
      return std::string{trimmed(std::string_view{line}.substr(equals + 1), kBlanksOfLine)};
  }
  return "";
}

std::string python_version_of_venv(std::string_view text) {
  const std::string version = venv_value(text, "version");  // the module venv
  return numbers_of(version.empty() ? venv_value(text, "version_info") : version);
}

std::string python_version_in_name(std::string_view name) {
  constexpr std::string_view kPython = "python";
  if (!name.starts_with(kPython)) return "";
  const std::string_view version = name.substr(kPython.size());
  const std::size_t point = version.find('.');
  const bool has_both = point != 0 && point != std::string_view::npos && version.back() != '.';
  return has_both && std::ranges::all_of(version, is_version_character) ? std::string{version} : "";
}

std::string python_version_of_folder(const std::string& version, std::string_view folder) {
  if (version.empty()) return version;
  const std::size_t begin = folder.find(version + ".");
  if (begin == std::string_view::npos) return version;
  const std::string longer = numbers_of(std::string{folder.substr(begin)});
  return longer.size() > version.size() + 1 ? longer : version;
}

std::string torch_version_in(std::string_view text) {
  for (const std::string& line : split_lines(std::string{text})) {
    if (!line.starts_with("__version__")) continue;
    const std::size_t begin = line.find_first_of("'\"", line.find('='));
    if (begin == std::string::npos) continue;
    const std::size_t end = line.find(line[begin], begin + 1);
    if (end != std::string::npos) return line.substr(begin + 1, end - begin - 1);
  }
  return "";
}

std::string driver_version_in(std::string_view text) {
  std::istringstream words{std::string{text.substr(0, text.find('\n'))}};
  for (std::string word; words >> word;)
    if (is_digit(word.front()) && word.find('.') != std::string::npos &&
        std::ranges::all_of(word, is_version_character))
      return word;
  return "";
}

}  // namespace ddprun
