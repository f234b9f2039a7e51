#include "launcher/record/version_texts.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "base/text.hpp"

namespace ddprun {

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
