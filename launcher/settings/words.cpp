#include "launcher/settings/words.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace ddprun {

namespace {

constexpr std::size_t kLettersMax = 64;  // a longer word is no slip of an option's name

/// The optimal string alignment distance
/// (https://en.wikipedia.org/wiki/Damerau-Levenshtein_distance).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t wrong = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + wrong});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string_view closest_word(std::string_view word,
                              const std::vector<std::string_view>& candidates) {
  std::string_view closest;
  if (word.empty() || word.size() > kLettersMax) return closest;
  std::size_t least = std::min<std::size_t>(2, (word.size() - 1) / 2) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t far = distance(word, candidate);
    if (far >= least) continue;
    least = far;
    closest = candidate;
  }
  return closest;
}

std::string shell_word(const std::string& text) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view{"%+,-./:=@_"}.find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return out + "'";
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

}  // namespace ddprun
