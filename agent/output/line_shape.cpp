#include "agent/output/line_shape.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <functional>
#include <utility>

#include "base/numbers.hpp"

namespace ddprun {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

/// Reads a number that begins at `at`, where a digit stands.
class NumberReader {
 public:
  NumberReader(std::string_view text, std::size_t at) : text_{text}, at_{at} {}

  LineNumber read(const Speaker& speaker) const {
    if (const std::size_t size = address()) return number(size, LineNumber::kAddress);
    if (const std::size_t size = date()) return number(size, LineNumber::kTime);
    if (const std::size_t size = time_of_day()) return number(size, LineNumber::kTime);
    if (const std::size_t size = version()) return number(size, LineNumber::kPlain);
    if (const std::size_t size = fraction()) return number(size, LineNumber::kFraction);
    const std::size_t size = digits(at_);
    return number(size, meanings_of_integer(size, speaker));
  }

 private:
  LineNumber number(std::size_t size, std::uint8_t meanings) const {
    return {static_cast<std::uint32_t>(at_), static_cast<std::uint32_t>(size), meanings};
  }

  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  std::size_t digits(std::size_t from) const {
    std::size_t end = from;
    while (is_digit(at(end))) ++end;
    return end - from;
  }

  std::size_t address() const {
    if (at(at_) != '0' || at(at_ + 1) != 'x') return 0;
    std::size_t end = at_ + 2;
    while (std::isxdigit(static_cast<unsigned char>(at(end))) != 0) ++end;
    return end == at_ + 2 ? 0 : end - at_;
  }

  /// 2026-11-21 or 2026/11/21.
  std::size_t date() const {
    const char separator = at(at_ + 4);
    const bool is = digits(at_) == 4 && (separator == '-' || separator == '/') &&
                    digits(at_ + 5) == 2 && at(at_ + 7) == separator && digits(at_ + 8) == 2;
    return is ? 10 : 0;
  }

  /// 9:50, 09:50:22 or 09:50:22.123, also with a comma.
  std::size_t time_of_day() const {
    const std::size_t hours = digits(at_);
    if (hours > 2 || at(at_ + hours) != ':' || digits(at_ + hours + 1) != 2) return 0;
    std::size_t end = at_ + hours + 3;
    if (at(end) == ':' && digits(end + 1) == 2) end += 3;
    if ((at(end) == '.' || at(end) == ',') && digits(end + 1) > 0) end += 1 + digits(end + 1);
    return end - at_;
  }

  /// 2.11.0 or 10.0.0.1: more than one point makes no fraction.
  std::size_t version() const {
    std::size_t end = at_ + digits(at_);
    int points = 0;
    for (; at(end) == '.' && digits(end + 1) > 0; ++points) end += 1 + digits(end + 1);
    return points > 1 ? end - at_ : 0;
  }

  std::size_t fraction() const {
    std::size_t end = at_ + digits(at_);
    const std::size_t whole = end;
    if (at(end) == '.' && digits(end + 1) > 0) end += 1 + digits(end + 1);
    if (at(end) == 'e' || at(end) == 'E') {
      const std::size_t sign = at(end + 1) == '-' || at(end + 1) == '+' ? 1 : 0;
      if (const std::size_t n = digits(end + 1 + sign)) end += 1 + sign + n;
    }
    return end == whole ? 0 : end - at_;
  }

  std::uint8_t meanings_of_integer(std::size_t size, const Speaker& speaker) const {
    std::uint8_t meanings = LineNumber::kPlain;
    const auto value = parse_number<std::int64_t>(text_.substr(at_, size));
    if (value && *value == speaker.rank) meanings |= LineNumber::kRank;
    if (value && *value == speaker.local_rank) meanings |= LineNumber::kLocalRank;
    if (value && (*value == speaker.pid || behind_pid())) meanings |= LineNumber::kProcess;
    if (since_1970(size) || before_unit_of_time(at_ + size)) meanings |= LineNumber::kTime;
    return meanings;
  }

  /// Seconds, milliseconds, microseconds or nanoseconds of our time begin with 1 or 2.
  bool since_1970(std::size_t size) const {
    return (size == 10 || size == 13 || size == 16 || size == 19) &&
           (at(at_) == '1' || at(at_) == '2');
  }

  bool behind_pid() const {
    std::size_t end = at_;
    while (end > 0 && at_ - end < 3 && !is_letter(text_[end - 1])) --end;
    if (end < 3) return false;
    std::array<char, 3> word{};
    std::ranges::transform(text_.substr(end - 3, 3), word.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return std::string_view{word.data(), 3} == "pid";
  }

  bool before_unit_of_time(std::size_t end) const {
    if (at(end) == ' ') ++end;
    for (const std::string_view unit : {"ms", "us", "ns", "s", "sec", "secs", "seconds", "min"})
      if (text_.substr(end, unit.size()) == unit && !is_letter(at(end + unit.size()))) return true;
    return false;
  }

  std::string_view text_;
  std::size_t at_;
};

/// Calls `take` with each piece of the text that is no number.
template <typename Take>
void for_words(const LineShape& shape, const Take& take) {
  const std::string_view text{shape.text};
  std::size_t from = 0;
  for (const LineNumber& number : shape.numbers) {
    take(text.substr(from, number.begin - from));
    from = number.begin + number.size;
  }
  take(text.substr(from));
}

std::uint64_t hash_of_words(const LineShape& shape) {
  std::uint64_t hash = shape.numbers.size();
  for_words(shape, [&](std::string_view words) {
    hash = hash * 0x9e3779b97f4a7c15 + std::hash<std::string_view>{}(words);
  });
  return hash;
}

bool same_words(const LineShape& a, const LineShape& b) {
  std::size_t a_from = 0, b_from = 0;
  for (std::size_t i = 0; i <= a.numbers.size(); ++i) {
    const bool last = i == a.numbers.size();
    const std::size_t a_end = last ? a.text.size() : a.numbers[i].begin;
    const std::size_t b_end = last ? b.text.size() : b.numbers[i].begin;
    if (a.text.compare(a_from, a_end - a_from, b.text, b_from, b_end - b_from) != 0) return false;
    if (last) break;
    a_from = a_end + a.numbers[i].size;
    b_from = b_end + b.numbers[i].size;
  }
  return true;
}

double value_of(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

LineShape::LineShape(std::string line, const Speaker& speaker) : text{std::move(line)} {
  const std::size_t end = std::min(text.size(), kBytesMax);
  for (std::size_t at = 0; at < end && numbers.size() < kNumbersMax;) {
    if (!is_digit(text[at])) {
      ++at;
      continue;
    }
    numbers.push_back(NumberReader{text, at}.read(speaker));
    at += numbers.back().size;
  }
  words_hash = hash_of_words(*this);
}

LineSummary::LineSummary(LineShape first) : first_{std::move(first)} {}

bool LineSummary::accepts(const LineShape& other) const {
  if (first_.words_hash != other.words_hash || first_.numbers.size() != other.numbers.size())
    return false;
  for (std::size_t i = 0; i < first_.numbers.size(); ++i) {
    const bool may_mean_the_same = (first_.numbers[i].meanings & other.numbers[i].meanings) != 0;
    const bool differed = !spreads_.empty() && spreads_[i].differs;
    if (!may_mean_the_same && (differed || first_.number(i) != other.number(i))) return false;
  }
  return same_words(first_, other);
}

void LineSummary::add(const LineShape& other) {
  for (std::size_t i = 0; i < first_.numbers.size(); ++i) {
    first_.numbers[i].meanings &= other.numbers[i].meanings;
    if (first_.number(i) != other.number(i)) widen(i, other.number(i));
  }
}

void LineSummary::widen(std::size_t i, std::string_view number) {
  if (spreads_.empty())
    for (std::size_t n = 0; n < first_.numbers.size(); ++n)
      spreads_.push_back({std::string{first_.number(n)}, std::string{first_.number(n)}, false});
  Spread& spread = spreads_[i];
  spread.differs = true;
  if (value_of(number) < value_of(spread.least)) spread.least = number;
  if (value_of(number) > value_of(spread.greatest)) spread.greatest = number;
}

std::string LineSummary::shown(std::size_t i, const std::vector<int>& ranks,
                               const std::vector<int>& local_ranks) const {
  const std::uint8_t meanings = first_.numbers[i].meanings;
  const Spread& spread = spreads_[i];
  if (meanings & LineNumber::kRank) return format_number_list(ranks);
  if (meanings & LineNumber::kLocalRank) return format_number_list(local_ranks);
  if (meanings & LineNumber::kFraction) return spread.least + ".." + spread.greatest;
  if (meanings & LineNumber::kTime) return std::string{first_.number(i)};
  return "*";
}

std::string LineSummary::text(const std::vector<int>& ranks,
                              const std::vector<int>& local_ranks) const {
  if (spreads_.empty()) return first_.text;
  std::string out;
  std::size_t i = 0;
  for_words(first_, [&](std::string_view words) {
    out += words;
    if (i < first_.numbers.size())
      out += spreads_[i].differs ? shown(i, ranks, local_ranks) : std::string{first_.number(i)};
    ++i;
  });
  return out;
}

}  // namespace ddprun
