#include "base/text_table.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace ddprun {

std::string painted(const std::string& text, const char* color) {
  if (*color == '\0' || text.empty()) return text;
  return std::string{"\x1b["} + color + "m" + text + "\x1b[0m";
}

TextTable::TextTable(std::string sides, std::vector<std::string> headings)
    : sides_{std::move(sides)} {
  if (headings.empty()) return;
  auto& row = rows_.emplace_back();
  for (std::string& heading : headings) row.push_back({std::move(heading), kDim});
}

std::string TextTable::text(bool color, const std::string& lead) const {
  std::string out;
  for (const auto& row : rows_) {
    std::string line = lead;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(width(i) - columns_of(row[i].text), ' ');
      const std::string cell = painted(row[i].text, color ? row[i].color : "");
      line += (i == 0 ? "" : "  ") + (sides_[i] == '>' ? gap + cell : cell + gap);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::size_t TextTable::width(std::size_t column) const {
  std::size_t most = 0;
  for (const auto& row : rows_) most = std::max(most, columns_of(row[column].text));
  return most;
}

}  // namespace ddprun
