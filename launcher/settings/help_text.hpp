// The text that `ddprun --help` prints: commands, options and examples, for a terminal of 80
// columns. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

inline constexpr char kUsageLine[] = "ddprun [OPTIONS] SCRIPT [ARGUMENTS of the script...]";

/// What is written, and what it does.
struct HelpEntry {
  std::string word;
  std::string text;
};

struct HelpGroup {
  std::string_view title;
  std::vector<HelpEntry> entries;
};

/// Returns the whole text. `commands` come first, because nobody finds them otherwise.
std::string help_text(const std::vector<HelpGroup>& commands);

}  // namespace ddprun
