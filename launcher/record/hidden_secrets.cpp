#include "launcher/record/hidden_secrets.hpp"

#include <algorithm>
#include <cctype>

namespace ddprun {

namespace {

/// How the last part of a name ends whose value is a secret.
constexpr std::string_view kSecretEnds[] = {
    "token",      "secret", "password",  "passwd",    "pwd",          "passphrase",
    "apikey",     "key",    "accesskey", "secretkey", "privatekey",   "credentials",
    "credential", "auth",   "pat",       "pass",      "authorization"};
/// Other words end in these, too: `monkey`, `compat`, `compass`. So they must be the whole part.
constexpr std::string_view kWholeEnds[] = {"key", "auth", "pat", "pass", "pwd"};

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kQuotes = "\"'";
constexpr std::string_view kClosing = "\"'\\])";      // may stand between a name and its '='
constexpr std::string_view kWordEnds = " \t\r\n;&|";  // end a shell's word, outside of quotes

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_in_name(char c) { return is_letter_or_digit(c) || c == '_' || c == '-' || c == '.'; }
bool is_one_of(char c, std::string_view these) { return these.find(c) != these.npos; }

/// "-x" or "--max-steps=3", which no secret looks like: those have capitals, or begin otherwise.
bool is_like_option(std::string_view word) {
  if (!word.starts_with('-')) return false;
  if (!word.starts_with("--")) return word.size() == 2 && is_letter_or_digit(word[1]);
  const std::string_view name = word.substr(2, word.find('=') - 2);
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return is_in_name(c) && std::isupper(static_cast<unsigned char>(c)) == 0;
  });
}

/// Goes through the words of a command. The value of a secret may be the next word.
class Hiding {
 public:
  std::string in_word(std::string_view word) {
    text_ = word;
    at_ = 0;
    out_.clear();
    is_sentence_ = word.find_first_of(kBlanks) != word.npos;
    if (awaits_) hide_awaited(word.size());
    while (at_ < word.size()) go_on();
    return out_;
  }

 private:
  void go_on() {
    if (awaits_ && !is_one_of(text_[at_], kBlanks))
      hide_awaited(end_of_shell_word());
    else if (is_in_name(text_[at_]))
      pass_name();
    else if (text_.substr(at_).starts_with("://"))
      pass_login();
    else
      copy_to(at_ + 1);
  }

  void pass_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_in_name(text_[at_])) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    out_ += name;
    if (!names_secret(name)) return;
    const std::size_t sign = first_not_of(kBlanks, first_not_of(kClosing, at_));
    if (sign == text_.size() || !is_one_of(text_[sign], "=:")) {
      awaits_ = name.starts_with('-');
      return;
    }
    copy_to(first_not_of(" \t\r\n=:>", sign));
    awaits_ = at_ == text_.size();
    if (!awaits_) hide_to(end_of_value(text_[sign] == ':', begin));
  }

  /// A secret that a user's part of an address has: https://user:password@host.
  void pass_login() {
    copy_to(at_ + std::string_view{"://"}.size());
    const std::size_t end = std::min(text_.find_first_of("/ \t\r\n\"'", at_), text_.size());
    const std::size_t login = text_.substr(at_, end - at_).rfind('@');
    if (login != text_.npos) hide_to(at_ + login);
  }

  /// An option in its place is one, as the name before it may be that of a switch.
  void hide_awaited(std::size_t end) {
    const std::string_view value = text_.substr(at_, end - at_);
    awaits_ = false;
    if (value.empty() || is_like_option(value)) return;
    hide_to(end);
    awaits_ = value.starts_with('-') && names_secret(value);
  }

  /// Hides too much rather than too little.
  std::size_t end_of_value(bool behind_colon, std::size_t name) const {
    if (!is_sentence_ || text_[at_] == '\\') return text_.size();
    if (!behind_colon) return end_of_shell_word();
    if (is_one_of(text_[at_], kQuotes)) return end_of_quoted(at_);
    // The value of a header has several words; it ends with the line, or with what quotes it.
    const std::size_t quote = text_.find_last_of(kQuotes, name);
    const std::string ends{'\n', quote == text_.npos ? '\n' : text_[quote]};
    return std::min(text_.find_first_of(ends, at_), text_.size());
  }

  std::size_t end_of_shell_word() const {
    std::size_t end = at_;
    while (end < text_.size() && !is_one_of(text_[end], kWordEnds))
      if (is_one_of(text_[end], kQuotes))
        end = end_of_quoted(end);
      else
        end += text_[end] == '\\' ? 2 : 1;
    return std::min(end, text_.size());
  }

  /// Behind the closing quote, or the end where there is none.
  std::size_t end_of_quoted(std::size_t begin) const {
    for (std::size_t end = begin + 1; end < text_.size(); ++end)
      if (text_[end] == '\\')
        ++end;
      else if (text_[end] == text_[begin])
        return end + 1;
    return text_.size();
  }

  std::size_t first_not_of(std::string_view these, std::size_t from) const {
    return std::min(text_.find_first_not_of(these, from), text_.size());
  }

  void copy_to(std::size_t end) {
    out_ += text_.substr(at_, end - at_);
    at_ = end;
  }

  void hide_to(std::size_t end) {
    if (end > at_) out_ += kHidden;
    at_ = end;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  bool is_sentence_ = false;  // text_ has several words: a command of a shell, JSON, a header
  bool awaits_ = false;       // a secret comes next
};

}  // namespace

bool names_secret(std::string_view name) {
  const auto last = std::find_if_not(name.rbegin(), name.rend(), is_letter_or_digit);
  std::string end{last.base(), name.end()};
  std::ranges::transform(end, end.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(kSecretEnds, [&](std::string_view secret) {
    const bool whole = std::ranges::count(kWholeEnds, secret) > 0;
    return whole ? end == secret : end.ends_with(secret);
  });
}

std::vector<std::string> without_secrets(const std::vector<std::string>& words) {
  Hiding hiding;
  std::vector<std::string> out;
  out.reserve(words.size());
  for (const std::string& word : words) out.push_back(hiding.in_word(word));
  return out;
}

std::string without_secrets(std::string_view name, const std::string& value) {
  if (names_secret(name) && !value.empty()) return kHidden;
  return Hiding{}.in_word(value);
}

}  // namespace ddprun
