// A table for people, in a terminal. Pure.
#pragma once

#include <string>
#include <vector>

namespace ddprun {

// Colours of ECMA-48, for painted().
inline constexpr char kRed[] = "31";
inline constexpr char kGreen[] = "32";
inline constexpr char kYellow[] = "33";
inline constexpr char kDim[] = "2";

/// Returns the text in a colour; "": as it is.
std::string painted(const std::string& text, const char* color);

struct Cell {
  std::string text;
  const char* color = "";
};

/// A table whose columns are as wide as they have to be, and two blanks apart.
class TextTable {
 public:
  /// `sides` has a letter for each column: '<' for texts, '>' for numbers, which stand to the
  /// right.
  explicit TextTable(std::string sides, std::vector<std::string> headings = {});

  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

  /// The lines, each behind `lead`, with no blanks at their ends.
  std::string text(bool color = false, const std::string& lead = "") const;

 private:
  std::size_t width(std::size_t column) const;

  std::string sides_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace ddprun
