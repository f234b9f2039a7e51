// The options of the command line: one table, from which parsing, --help, the PET_ variables, the
// shells' completions and the man page are made.
//
// Names, defaults and variables are those of torchrun
// (https://docs.pytorch.org/docs/stable/elastic/run.html); ddprun's own are marked.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ddprun {

/// What an option belongs to in --help.
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

// In the order in which the table is read. NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct Option {
  std::string_view name;      // "nproc-per-node"; also spelled with underscores
  char letter = 0;            // of the short form, 0: none
  std::string_view value;     // what --help calls it; "": a flag
  std::string_view fallback;  // when it is given nowhere
  OptionGroup group = OptionGroup::kSize;
  std::string_view help;
  std::string_view choices;  // "a b c": nothing else is accepted
  std::string_view also;     // another variable with its default, after PET_
  bool from_environment = true;
  bool own = false;       // not one of torchrun's
  std::string_view bare;  // what it means without a value, which is never the next word

  bool is_flag() const { return value.empty(); }
  /// Whether the word behind it is its value.
  bool takes_word() const { return !is_flag() && bare.empty(); }
  /// "--nproc-per-node"
  std::string spelling() const { return "--" + std::string{name}; }
  /// "PET_NPROC_PER_NODE"; "" for an option that is only read from the command line.
  std::string variable() const;
};

/// All options, by group, in the order in which --help shows them.
std::span<const Option> options();

/// "Program"
std::string_view title(OptionGroup group);

/// "nproc_per_node" → "nproc-per-node".
std::string with_dashes(std::string_view name);

}  // namespace ddprun
