// What may follow the name of a command such as `ddprun top`.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace CLI {
class App;
}

namespace ddprun {

class Console;

/// What else holds for the value of an option or of an argument.
struct ValueRules {
  std::string_view variable = {};         // gives the value where no word does; "": none does
  std::vector<std::string> choices = {};  // nothing else is accepted; empty: anything is
  std::optional<double> least = {};       // a number may not be below it; nullopt: no bounds
  double most = 0;                        // and not above this, if there is a least
  char separator = 0;                     // between values in one word; 0: a word is one value
  bool required = false;                  // only of arguments: the command needs it
  int count_max = 0;                      // how many values a list may have; 0: any number
};

/// The options, arguments and commands below it that a command has. It learns where their values go
/// and what --help says of them, and then reads the words of a user.
///
/// CLI11 reads them in the end. It is 10,000 lines of templates, and known to this room alone.
class CommandOptions {
 public:
  /// `about` is what --help begins with; `name` is "ddprun top".
  CommandOptions(std::string about, std::string name);

  /// Declares an option without a value. `names` are "-f,--follow", or the last of them.
  void flag(std::string_view names, bool& on, std::string_view help);

  /// Declares an option. `value` is its value's name in --help, where the default of a text or a
  /// number is shown as well. A list takes what each use of the option adds.
  void option(std::string_view names, std::string& to, std::string_view value,
              std::string_view help, const ValueRules& rules = {});
  void option(std::string_view names, std::vector<std::string>& to, std::string_view value,
              std::string_view help, const ValueRules& rules = {});
  void option(std::string_view names, int& to, std::string_view value, std::string_view help,
              const ValueRules& rules = {});
  void option(std::string_view names, std::size_t& to, std::string_view value,
              std::string_view help, const ValueRules& rules = {});
  void option(std::string_view names, double& to, std::string_view value, std::string_view help,
              const ValueRules& rules = {});

  /// Declares what follows in this place, one word or several.
  void argument(std::string_view name, std::string& to, std::string_view help,
                const ValueRules& rules = {});
  void argument(std::string_view name, std::vector<std::string>& to, std::string_view help,
                const ValueRules& rules = {});

  /// Declares a command below this one, as "verify". A user has to name one of them.
  CommandOptions subcommand(std::string_view name, std::string_view help);

  /// Lines that --help ends with.
  void examples(std::string_view lines);

  /// Reads the `words` that follow the command's name to where the values go. Returns nullopt when
  /// the command can begin. Otherwise there is nothing more to do, and the value is the exit code
  /// (of --help, which `out` gets), or the error that names the command and the mistake.
  std::optional<Result<int>> parse(const std::vector<std::string>& words, Console& out);

  /// Whether the words have named this command, which is one below another.
  bool is_chosen() const;

 private:
  explicit CommandOptions(std::shared_ptr<CLI::App> app);

  std::shared_ptr<CLI::App> app_;
};

}  // namespace ddprun
