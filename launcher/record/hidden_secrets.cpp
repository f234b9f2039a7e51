#include "launcher/record/hidden_secrets.hpp"

#include <algorithm>
#include <cctype>

namespace ddprun {

namespace {

/// How the last part of a name ends whose value is a secret.
constexpr std::string_view kSecretEnds[] = {"token", "secret",     "password",   "passwd",
                                            "pwd",   "passphrase", "apikey",     "credentials",
                                            "auth",  "pat",        "credential", "pass"};
/// These may be the end of another word, as in `path`, or `monkey`.
constexpr std::string_view kWholeEnds[] = {"auth", "pat", "pass", "pwd"};

// A shell's words, and the parts of a list, end at one of these.
constexpr char kSeparators[] = " \t\n;&|,'\"";

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// The value of an address without who logs in there.
std::string without_user(std::string piece) {
  const std::size_t scheme = piece.find("://");
  if (scheme == std::string::npos) return piece;
  const std::size_t begin = scheme + 3;
  const std::size_t host_end = std::min(piece.find('/', begin), piece.size());
  const std::size_t at = piece.rfind('@', host_end);
  if (at == std::string::npos || at < begin) return piece;
  return piece.replace(begin, at - begin, kHidden);
}

/// Goes through a command piece by piece; the value of a secret may be the next one.
class Hiding {
 public:
  std::string in_word(const std::string& word) {
    std::string out;
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t end = std::min(word.find_first_of(kSeparators, at), word.size());
      if (end > at) out += in_piece(word.substr(at, end - at));
      if (end < word.size()) out += word[end];
      at = end + 1;
    }
    return out;
  }

 private:
  std::string in_piece(const std::string& piece) {
    const bool is_option = piece.front() == '-';
    if (awaits_ && !is_option) {
      awaits_ = false;
      return kHidden;
    }
    const std::size_t equals = piece.find('=');
    const bool secret = names_secret(piece.substr(0, equals));
    awaits_ = secret && (equals == std::string::npos ? is_option : equals + 1 == piece.size());
    if (secret && equals != std::string::npos && !awaits_)
      return piece.substr(0, equals + 1) + kHidden;
    return without_user(piece);
  }

  bool awaits_ = false;
};

}  // namespace

bool names_secret(std::string_view name) {
  const auto last = std::find_if_not(name.rbegin(), name.rend(), is_letter_or_digit);
  std::string end{last.base(), name.end()};
  std::ranges::transform(end, end.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (end == "key") return true;
  return std::ranges::any_of(kSecretEnds, [&](std::string_view secret) {
    const bool whole = std::ranges::count(kWholeEnds, secret) > 0;
    return whole ? end == secret : end.ends_with(secret);
  });
}

std::vector<std::string> without_secrets(const std::vector<std::string>& words) {
  Hiding hiding;
  std::vector<std::string> out;
  for (const std::string& word : words) out.push_back(hiding.in_word(word));
  return out;
}

std::string without_secrets(std::string_view name, const std::string& value) {
  if (names_secret(name) && !value.empty()) return kHidden;
  return Hiding{}.in_word(value);
}

}  // namespace ddprun
