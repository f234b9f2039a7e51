#include "launcher/settings/help_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "launcher/settings/options.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kColumns = 80;

// The words on an entry begin at one of these columns, or between them.
constexpr std::size_t kTextColumnMin = 15;
constexpr std::size_t kTextColumnMax = 30;

constexpr char kHead[] =
    "Runs a distributed training on every node: starts its workers, watches them, and\n"
    "restarts them when one fails. Takes torchrun's command lines.\n\n";

constexpr char kExamples[] =
    "\nExamples:\n"
    "  ddprun --nproc-per-node 2 train.py --epochs 10\n"
    "  ddprun --nproc-per-node gpu --max-restarts 3 --tee 3 --log-dir logs -m my.job\n"
    "  ddprun --nproc-per-node 2 --no-python ./train_digits\n"
    "  ddprun --nproc-per-node 4 --dry-run train.py   # what would be started\n"
    "  ddprun launch --nproc-per-node 2 train.py      # passes --local-rank=N\n"
    "  ddprun --hosts h1,h2:8 -x TOKEN train.py       # on other machines, over ssh\n"
    "  ddprun server --port 29400                     # a meeting place for many jobs\n"
    "\n"
    "Everything after SCRIPT belongs to the script. An option may be spelled with\n"
    "underscores and cut short (--nproc 2); PET_NPROC_PER_NODE=2 in the environment\n"
    "is its default. Exit codes and more: ddprun --man | man -l -\n";

/// The text in lines that fit behind `indent` columns. The first one begins there already.
std::string wrapped(std::string_view text, std::size_t indent) {
  const std::size_t width = kColumns - indent;
  std::string out;
  while (text.size() > width) {
    const std::size_t blank = text.rfind(' ', width);
    if (blank == std::string_view::npos) break;
    out += fmt::format("{}\n{:{}}", text.substr(0, blank), "", indent);
    text.remove_prefix(blank + 1);
  }
  return out + std::string{text} + "\n";
}

/// The column at which the words on all entries begin: as near as the longest of them lets it.
std::size_t text_column(const std::vector<HelpGroup>& groups) {
  std::size_t longest = 0;
  for (const HelpGroup& group : groups)
    for (const HelpEntry& entry : group.entries) longest = std::max(longest, entry.word.size());
  return std::clamp(longest + 4, kTextColumnMin, kTextColumnMax);
}

/// The words on an entry, in the columns behind it or below it.
std::string entry_text(const HelpEntry& entry, std::size_t column) {
  std::string out = "  " + entry.word;
  if (out.size() + 2 > column) out += "\n" + std::string(column, ' ');
  out.resize(out.rfind('\n') == std::string::npos ? column : out.size(), ' ');
  return out + wrapped(entry.text, column);
}

std::string group_text(const HelpGroup& group, std::size_t column) {
  std::string out = fmt::format("\n{}:\n", group.title);
  for (const HelpEntry& entry : group.entries) out += entry_text(entry, column);
  return out;
}

/// The choices in brackets; "" where the words on the option name them all.
std::string choices_text(const Option& option) {
  const std::vector<std::string_view> choices = option.choice_list();
  const bool says_all = std::ranges::all_of(choices, [&](std::string_view choice) {
    return option.help.find(choice) != std::string_view::npos;
  });
  return says_all ? "" : fmt::format(" ({})", fmt::join(choices, ", "));
}

HelpEntry entry_of(const Option& option) {
  const bool has_default = !option.fallback.empty() && option.group != OptionGroup::kIgnored;
  return {(option.letter ? std::string{"-"} + option.letter + ", " : "") + option.spelling() +
              (option.is_flag() ? "" : " ") + std::string{option.value} +
              (has_default ? "=" + std::string{option.fallback} : ""),
          std::string{option.help} + choices_text(option)};
}

/// What both helps begin with.
std::string head_text(const std::vector<HelpGroup>& commands) {
  return kHead + fmt::format("Usage: {}\n", kUsageLine) +
         (commands.empty() ? "" : "       ddprun COMMAND [ARGUMENTS...]\n");
}

/// The names of a group's commands, in a paragraph.
std::string names_text(const HelpGroup& group) {
  std::vector<std::string_view> names;
  for (const HelpEntry& entry : group.entries) names.push_back(entry.word);
  return "\n" + wrapped(fmt::format("{}: {}", group.title, fmt::join(names, ", ")), 0);
}

}  // namespace

std::string command_help_text(const CommandHelp& command) {
  std::string out = wrapped(command.about, 0) + "\nUsage: " + command.usage + "\n";
  const std::size_t column = text_column(command.groups);
  for (const HelpGroup& group : command.groups)
    if (!group.entries.empty()) out += group_text(group, column);
  if (!command.examples.empty()) out += "\nExamples:\n";
  for (const std::string& example : command.examples) out += "  " + example + "\n";
  return out;
}

std::string help_text(const std::vector<HelpGroup>& commands) {
  std::string out = head_text(commands);
  for (const HelpGroup& group : commands) out += group_text(group, text_column(commands));
  if (!commands.empty())
    out += "\n`ddprun COMMAND --help` has more on each. The options for a SCRIPT:\n";
  HelpGroup group;
  for (const Option& option : options()) {
    if (title(option.group) != group.title) {
      if (!group.entries.empty()) out += group_text(group, kTextColumnMax);
      group = {title(option.group), {}};
    }
    group.entries.push_back(entry_of(option));
  }
  return out + group_text(group, kTextColumnMax) + kExamples;
}

std::string brief_help_text(const std::vector<HelpGroup>& commands) {
  HelpGroup first{"The options that most jobs need", {}};
  for (const Option& option : options())
    if (option.day_one) first.entries.push_back(entry_of(option));
  std::string out = head_text(commands) + group_text(first, kTextColumnMax);
  for (const HelpGroup& group : commands) out += names_text(group);
  return out + "\n--help shows all options, what each command does, and examples.\n";
}

}  // namespace ddprun
