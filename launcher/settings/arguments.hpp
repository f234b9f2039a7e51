// The words of the command line, sorted: what each option was set to and by whom, and the script
// with its arguments. What the values mean is command_line.cpp's business.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/result.hpp"

namespace ddprun {

/// The value of one option.
struct Setting {
  std::string text;
  std::string source;                 // "--nnodes" or "PET_NNODES", for messages
  bool given = false;                 // false: the default
  std::vector<std::string> all = {};  // every value, of an option that is given more than once
};

class Settings {
 public:
  /// `option`: its name in the table, with dashes.
  const Setting& operator[](std::string_view option) const;
  bool on(std::string_view flag) const { return (*this)[flag].text == "1"; }
  void set(std::string_view option, Setting setting);

 private:
  std::map<std::string, Setting, std::less<>> settings_;
};

struct Arguments {
  Settings settings;
  std::vector<std::string> script;  // the script and its arguments
  bool launch = false;              // `ddprun launch ...`, the form of torch.distributed.launch
};

/// `words`: without the program's own name. An option may be spelled with dashes or underscores,
/// cut short as long as it stays unique, and have its value behind '=' or in the next word; the
/// first word that is no option begins the script's own. Errors: kInvalid.
Result<Arguments> parse_arguments(const std::vector<std::string>& words,
                                  const EnvironmentLookup& environment);

/// What --help prints.
std::string help_text();

inline constexpr char kUsageLine[] = "ddprun [OPTIONS] SCRIPT [ARGUMENTS of the script...]";

}  // namespace ddprun
