#include "launcher/run/parse_words.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "agent/output/console.hpp"
#include "base/split_lines.hpp"
#include "launcher/run/command_words.hpp"
#include "launcher/settings/help_text.hpp"

namespace ddprun {

namespace {

/// "-o, --output FILE", "--port PORT=29400"; of a positional its name.
std::string word_of(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name();
  std::string word = option.get_name(false, true);
  if (const std::size_t comma = word.find(','); comma != std::string::npos)
    word.insert(comma + 1, " ");
  if (option.get_items_expected_max() == 0) return word;  // a flag
  word += " " + option.get_type_name();
  const std::string fallback = option.get_default_str();
  return fallback.empty() ? word : word + "=" + fallback;
}

std::string usage_of(const CLI::App& app) {
  std::string usage = app.get_display_name();
  for (const CLI::App* parent = app.get_parent(); parent != nullptr; parent = parent->get_parent())
    usage = parent->get_name() + " " + usage;
  usage += " [OPTIONS]";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_name();
    usage += option->get_required() ? " " + name : " [" + name + "]";
    if (option->get_expected_max() > 2) usage += "...";
  }
  return app.get_subcommands({}).empty() ? usage : usage + " COMMAND";
}

CommandHelp help_of(const CLI::App& app) {
  HelpGroup commands{"Commands", {}};
  HelpGroup arguments{"Arguments", {}};
  HelpGroup options{"Options", {}};
  for (const CLI::App* each : app.get_subcommands({}))
    commands.entries.push_back({each->get_name(), each->get_description()});
  for (const CLI::Option* option : app.get_options())
    (option->get_positional() ? arguments : options)
        .entries.push_back({word_of(*option), option->get_description()});
  return {app.get_description(),
          usage_of(app),
          {commands, arguments, options},
          split_lines(app.get_footer())};
}

/// The command or the one below it that the words have named.
const CLI::App& named(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : *parsed.front();
}

}  // namespace

std::optional<Result<int>> parse_words(CLI::App& app, const std::vector<std::string>& words,
                                       const Stage& stage) {
  app.set_help_flag("-h,--help", "print this help");
  for (CLI::App* each : app.get_subcommands({}))
    each->set_help_flag("-h,--help", "print this help");
  const auto spelled = spell_out(app, words);
  if (!spelled) return Result<int>{spelled.error()};
  try {
    app.parse(std::vector<std::string>{spelled->rbegin(), spelled->rend()});
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    stage.out.write(command_help_text(help_of(named(app))));
    return Result<int>{0};
  } catch (const CLI::ParseError& e) {
    return Result<int>{Error{Error::Kind::kInvalid, name_in_messages(app) + ": " + e.what()}};
  }
}

}  // namespace ddprun
