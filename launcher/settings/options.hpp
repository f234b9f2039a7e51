// All options of the command line are in one table. Parsing, --help, the PET_ variables, the
// shells' completions and the man page are made from it.
//
// Names, defaults and variables are those of torchrun
// (https://docs.pytorch.org/docs/stable/elastic/run.html); ddprun's own are marked.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// The heading under which --help shows an option.
enum class OptionGroup {
  kSize,
  kProgram,
  kNodes,
  kHosts,
  kWorkers,
  kOutput,
  kFailure,
  kHelp,
  kIgnored
};

// The members stand in the order in which the table is read.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct Option {
  std::string_view name;           // "nproc-per-node"; it may also be spelled with underscores
  char letter = 0;                 // the letter of its short form; 0: it has none
  std::string_view value = {};     // its value's name in --help; "": it is a flag and has none
  std::string_view fallback = {};  // its value when it is given nowhere
  OptionGroup group = OptionGroup::kSize;
  std::string_view help;
  std::string_view choices = {};  // "a b c": nothing else is accepted; "": anything is
  std::string_view other = {};    // refuses another value, and says what to do; "": a mistake
  std::string_view also = {};     // another variable that sets it, after its PET_ variable
  bool from_environment = true;   // false: no variable sets it
  bool own = false;               // true: torchrun does not have it
  std::string_view bare = {};     // its value when none is given; then the next word is never its
                                  // value. "": it needs one
  bool day_one = false;           // true: `ddprun -h` shows it, too

  /// Whether it has no value.
  bool is_flag() const { return value.empty(); }
  /// Whether the word behind it can be its value.
  bool takes_word() const { return !is_flag() && bare.empty(); }
  /// Its full form on the command line: "--nproc-per-node".
  std::string spelling() const { return "--" + std::string{name}; }
  /// Its choices, one by one; empty: anything is accepted.
  std::vector<std::string_view> choice_list() const;
  /// The variable that sets it, "PET_NPROC_PER_NODE"; "" where none does.
  std::string variable() const;
};

/// Returns all options, group by group, in the order in which --help shows them.
std::span<const Option> options();

/// Returns the heading of a group, as "Program".
std::string_view title(OptionGroup group);

/// Returns "nproc-per-node" for "nproc_per_node".
std::string with_dashes(std::string_view name);

}  // namespace ddprun
