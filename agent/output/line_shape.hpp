// LineShape: what two lines of different workers have in common when they say the same. Pure.
//
// Most lines that many ranks say differ in numbers that mean nothing to a reader: the rank, the
// process id, a time, the last digits of a loss. All other numbers (a step, a count) mean
// something, so lines that differ in one of these do not say the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// A worker that says a line.
struct Speaker {
  int rank = 0;
  int local_rank = 0;
  std::int64_t pid = 0;  // 0: not known yet
};

/// A number in a line, with all that it may be. Two lines may differ in it if it may be the same in
/// both.
struct LineNumber {
  enum Meaning : std::uint8_t {
    kPlain = 0,      // a step, a count: has to be equal
    kRank = 1,       // the rank of the worker that wrote it
    kLocalRank = 2,  // its local rank
    kProcess = 4,    // its process id, or a number behind "pid"
    kTime = 8,       // a date, a time of day, seconds since 1970, or a number before a unit of time
    kFraction = 16,  // 0.31, 1e-5
    kAddress = 32,   // 0x7f00
  };
  std::uint32_t begin = 0;
  std::uint32_t size = 0;
  std::uint8_t meanings = kPlain;  // bits of Meaning
};

struct LineShape {
  /// Numbers behind this many others in one line have to be equal, and so has what follows this
  /// many bytes.
  static constexpr std::size_t kNumbersMax = 64;
  static constexpr std::size_t kBytesMax = 4096;

  std::string text;
  std::vector<LineNumber> numbers;
  std::uint64_t words_hash = 0;  // hash of all but the numbers

  LineShape() = default;
  LineShape(std::string line, const Speaker& speaker);

  std::string_view number(std::size_t i) const {
    return std::string_view{text}.substr(numbers[i].begin, numbers[i].size);
  }
};

/// Lines that say the same, as one: where their numbers differ, it shows how.
class LineSummary {
 public:
  explicit LineSummary(LineShape first);

  const LineShape& first() const { return first_; }

  /// Whether `other` says the same: all that is no number is equal, and each number is equal or may
  /// mean what it means in the lines that are here.
  bool accepts(const LineShape& other) const;

  /// Takes a line that it accepts.
  void add(const LineShape& other);

  /// The first line's text. Where others differ from it, ranks become "0-7", fractions the least
  /// and the greatest, as "0.29..0.31", and process ids and addresses "*". A time stays the first
  /// one's. `ranks` and `local_ranks` are those of all workers that wrote it, ascending.
  std::string text(const std::vector<int>& ranks, const std::vector<int>& local_ranks) const;

 private:
  struct Spread {
    std::string least, greatest;  // fractions as they were written
    bool differs = false;
  };
  void widen(std::size_t i, std::string_view number);
  std::string shown(std::size_t i, const std::vector<int>& ranks,
                    const std::vector<int>& local_ranks) const;

  LineShape first_;
  std::vector<Spread> spreads_;  // by number; empty: no number differs so far
};

}  // namespace ddprun
