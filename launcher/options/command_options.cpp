#include "launcher/options/command_options.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "agent/output/console.hpp"
#include "base/text.hpp"
#include "launcher/options/command_words.hpp"
#include "launcher/settings/help_text.hpp"

namespace ddprun {

namespace {

/// "-o, --output FILE", "--port PORT=29400"; of an argument its name, as it is shown.
std::string word_of(const CLI::Option& option) {
  if (option.get_positional()) return option.get_type_name();
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
    usage.insert(0, parent->get_name() + " ");
  usage += " [OPTIONS]";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_type_name();
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

void apply(const ValueRules& rules, CLI::Option& option) {
  if (!rules.variable.empty()) option.envname(std::string{rules.variable});
  if (!rules.choices.empty()) option.check(CLI::IsMember{rules.choices}.description(""));
  if (rules.least) option.check(CLI::Range{*rules.least, rules.most}.description(""));
  if (rules.separator != 0) option.delimiter(rules.separator);
  if (rules.required) option.required();
  if (rules.count_max > 0) option.expected(1, rules.count_max);
}

template <typename Value>
CLI::Option& add_value(CLI::App& app, std::string_view names, Value& to, std::string_view help,
                       const ValueRules& rules) {
  CLI::Option& option = *app.add_option(std::string{names}, to, std::string{help});
  apply(rules, option);
  return option;
}

/// An option whose default --help shows.
template <typename Value>
void add_shown(CLI::App& app, std::string_view names, Value& to, std::string_view value,
               std::string_view help, const ValueRules& rules) {
  add_value(app, names, to, help, rules).type_name(std::string{value})->capture_default_str();
}

/// CLI11 takes one word as an argument's name; "[JOB] RANK" is how this one is shown.
template <typename Value>
void add_argument(CLI::App& app, std::string_view shown, Value& to, std::string_view help,
                  const ValueRules& rules) {
  const std::string_view name = shown.substr(shown.rfind(' ') + 1);  // npos + 1 is 0
  add_value(app, name, to, help, rules).type_name(std::string{shown});
}

}  // namespace

CommandOptions::CommandOptions(std::string about, std::string name)
    : app_{std::make_shared<CLI::App>(std::move(about), std::move(name))} {}

CommandOptions::CommandOptions(std::shared_ptr<CLI::App> app) : app_{std::move(app)} {}

void CommandOptions::flag(std::string_view names, bool& on, std::string_view help) {
  app_->add_flag(std::string{names}, on, std::string{help});
}

void CommandOptions::option(std::string_view names, std::string& to, std::string_view value,
                            std::string_view help, const ValueRules& rules) {
  add_shown(*app_, names, to, value, help, rules);
}

void CommandOptions::option(std::string_view names, std::vector<std::string>& to,
                            std::string_view value, std::string_view help,
                            const ValueRules& rules) {
  add_value(*app_, names, to, help, rules).type_name(std::string{value});
}

void CommandOptions::option(std::string_view names, int& to, std::string_view value,
                            std::string_view help, const ValueRules& rules) {
  add_shown(*app_, names, to, value, help, rules);
}

void CommandOptions::option(std::string_view names, std::size_t& to, std::string_view value,
                            std::string_view help, const ValueRules& rules) {
  add_shown(*app_, names, to, value, help, rules);
}

void CommandOptions::option(std::string_view names, double& to, std::string_view value,
                            std::string_view help, const ValueRules& rules) {
  add_shown(*app_, names, to, value, help, rules);
}

void CommandOptions::argument(std::string_view name, std::string& to, std::string_view help,
                              const ValueRules& rules) {
  add_argument(*app_, name, to, help, rules);
}

void CommandOptions::argument(std::string_view name, std::vector<std::string>& to,
                              std::string_view help, const ValueRules& rules) {
  add_argument(*app_, name, to, help, rules);
}

CommandOptions CommandOptions::subcommand(std::string_view name, std::string_view help) {
  app_->require_subcommand(1);
  return CommandOptions{
      app_->get_subcommand_ptr(app_->add_subcommand(std::string{name}, std::string{help}))};
}

void CommandOptions::examples(std::string_view lines) { app_->footer(std::string{lines}); }

bool CommandOptions::is_chosen() const { return app_->parsed(); }

std::optional<Result<int>> CommandOptions::parse(const std::vector<std::string>& words,
                                                 Console& out) {
  app_->set_help_flag("-h,--help", "print this help");
  for (CLI::App* each : app_->get_subcommands({}))
    each->set_help_flag("-h,--help", "print this help");
  const auto spelled = spell_out(*app_, words);
  if (!spelled) return Result<int>{spelled.error()};
  try {
    app_->parse(std::vector<std::string>{spelled->rbegin(), spelled->rend()});
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    out.write(command_help_text(help_of(named(*app_))));
    return Result<int>{0};
  } catch (const CLI::ParseError& e) {
    return Result<int>{Error{Error::Kind::kInvalid, name_in_messages(*app_) + ": " + e.what()}};
  }
}

}  // namespace ddprun
