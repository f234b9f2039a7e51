#include "launcher/options/command_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "launcher/settings/options.hpp"
#include "launcher/settings/words.hpp"

namespace ddprun {

namespace {

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const CLI::App* each : commands) names.push_back(each->get_name());
  return names;
}

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

std::string guess(std::string_view word, const std::vector<std::string_view>& names,
                  const std::string& before) {
  const std::string meant{closest_word(word, names)};
  return meant.empty() ? "" : "; did you mean " + before + meant + "?";
}

/// Reads the words of a command from the first to the last. A word may name a command below it,
/// which then has the rest.
class WordReader {
 public:
  explicit WordReader(const CLI::App& app) : app_{&app} {}

  Result<std::vector<std::string>> read(const std::vector<std::string>& words) {
    for (next_ = words.begin(), end_ = words.end(); next_ != end_;) {
      const std::string& word = *next_++;
      const bool option = !only_arguments_ && word.size() > 1 && word.front() == '-';
      if (const auto read = option ? read_option(word) : read_argument(word); !read)
        return Error{Error::Kind::kInvalid, name_in_messages(*app_) + ": " + read.error().message};
    }
    if (const auto all = enough(); !all && !asks_for_help_)
      return Error{Error::Kind::kInvalid, name_in_messages(*app_) + ": " + all.error().message};
    return std::move(spelled_);
  }

 private:
  Result<void> read_option(const std::string& word) {
    const bool is_long = word.starts_with("--");
    const std::size_t equals = is_long ? word.find('=') : std::string::npos;
    if (word == "--") {
      only_arguments_ = true;
      spelled_.push_back(word);
      return {};
    }
    const auto option =
        is_long ? find(word.substr(2, equals == std::string::npos ? equals : equals - 2))
                : find(word[1]);
    if (!option) return option.error();
    asks_for_help_ |= *option == app_->get_help_ptr();
    const std::string name = "--" + (*option)->get_lnames().front();
    spelled_.push_back(!is_long                      ? word
                       : equals == std::string::npos ? name
                                                     : name + word.substr(equals));
    if (is_flag(**option) || equals != std::string::npos || (!is_long && word.size() > 2))
      return {};
    const bool last = next_ == end_;
    if (last || names_option(*next_))
      return invalid(name + " needs a value: " + (*option)->get_type_name() +
                     (last ? "" : " (the next word is the option " + *next_ + ")"));
    spelled_.push_back(*next_++);
    return {};
  }

  bool names_option(const std::string& word) const {
    return word.starts_with("--") && find(word.substr(2, word.find('=') - 2)).has_value();
  }

  Result<void> read_argument(const std::string& word) {
    spelled_.push_back(word);
    const auto commands = app_->get_subcommands({});
    if (!commands.empty()) {
      const auto named =
          std::ranges::find(commands, word, [](auto* each) { return each->get_name(); });
      if (named == commands.end()) return no_command(word);
      app_ = *named;
      return {};
    }
    ++arguments_;
    if (arguments_ <= arguments_max()) return {};
    if (arguments_max() == 0) return invalid("expected no argument, but there is '" + word + "'");
    return invalid(fmt::format("expected {}, and no '{}' behind it", listed_arguments(), word));
  }

  Error no_command(const std::string& word) const {
    const auto names = names_of(app_->get_subcommands({}));
    return invalid(
        fmt::format("there is no command '{}'; expected {}", word, fmt::join(names, " or ")));
  }

  /// Whether all required arguments are there.
  Result<void> enough() const {
    const auto names = names_of(app_->get_subcommands({}));
    if (!names.empty()) return invalid(fmt::format("expected {}", fmt::join(names, " or ")));
    int least = 0;
    for (const CLI::Option* each : app_->get_options())
      if (each->get_positional() && each->get_required()) least += each->get_expected_min();
    if (arguments_ < least) return invalid("expected " + listed_arguments());
    return {};
  }

  int arguments_max() const {
    int most = 0;
    for (const CLI::Option* each : app_->get_options())
      if (each->get_positional()) most += each->get_items_expected_max();
    return most;
  }

  std::string listed_arguments() const {
    std::string out;
    for (const CLI::Option* each : app_->get_options())
      if (each->get_positional()) out += (out.empty() ? "" : " ") + each->get_type_name();
    return out;
  }

  Result<const CLI::Option*> find(const std::string& typed) const {
    const std::string dashed = with_dashes(typed);
    std::vector<const CLI::Option*> found;
    std::vector<std::string_view> names;
    for (const CLI::Option* option : app_->get_options())
      for (const std::string& name : option->get_lnames()) {
        if (name == dashed) return option;
        if (name.starts_with(dashed)) found.push_back(option);
        names.push_back(name);
      }
    if (found.size() == 1) return found.front();
    if (found.empty())
      return invalid("there is no option '--" + typed + "'" + guess(dashed, names, "--"));
    std::vector<std::string> all;
    all.reserve(found.size());
    for (const CLI::Option* option : found) all.push_back("--" + option->get_lnames().front());
    return invalid(
        fmt::format("'--{}' is short for more than one option: {}", typed, fmt::join(all, " or ")));
  }

  Result<const CLI::Option*> find(char letter) const {
    for (const CLI::Option* option : app_->get_options())
      if (std::ranges::count(option->get_snames(), std::string(1, letter)) > 0) return option;
    return invalid(std::string{"there is no option '-"} + letter + "'");
  }

  const CLI::App* app_;
  std::vector<std::string>::const_iterator next_;
  std::vector<std::string>::const_iterator end_;
  std::vector<std::string> spelled_;
  int arguments_ = 0;
  bool only_arguments_ = false;
  bool asks_for_help_ = false;
};

}  // namespace

std::string name_in_messages(const CLI::App& app) {
  const std::string& name = app.get_name();
  const std::string own = name.substr(name.rfind(' ') + 1);  // npos + 1 is 0
  return app.get_parent() == nullptr ? own : name_in_messages(*app.get_parent()) + " " + own;
}

Result<std::vector<std::string>> spell_out(const CLI::App& app,
                                           const std::vector<std::string>& words) {
  return WordReader{app}.read(words);
}

}  // namespace ddprun
