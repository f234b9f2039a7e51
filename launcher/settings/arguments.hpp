// Sorts the words of the command line: what each option is set to and by whom, and the script with
// its arguments. What the values mean is decided by interpret() and hosts_job().
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/result.hpp"

namespace ddprun {

/// What one option is set to.
struct Setting {
  std::string text;
  std::string source;                 // its name in messages: "--nnodes", "PET_NNODES"
  bool given = false;                 // false: it is not set, and `text` is the default
  std::vector<std::string> all = {};  // all values, where it is given more than once
};

/// What every option of the table is set to.
class Settings {
 public:
  /// `option` is its name in the table, with dashes. A name that is not there is a bug of ours and
  /// throws std::logic_error.
  const Setting& operator[](std::string_view option) const;
  /// Whether a flag is set.
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

/// `words` come without the program's own name. An option may be spelled with dashes or
/// underscores, cut short as long as it stays unique, and have its value behind '=' or in the next
/// word. The first word that is no option begins the script. Errors: kInvalid, for an option that
/// is not there, is short for several, lacks its value, or has one that is not among its choices.
Result<Arguments> parse_arguments(const std::vector<std::string>& words,
                                  const EnvironmentLookup& environment);

/// Returns a sentence on those options behind the script that were surely meant for ddprun; "":
/// there are none. An option that ddprun has as well is the script's own.
std::string misplaced_options(const Arguments& arguments);

}  // namespace ddprun
