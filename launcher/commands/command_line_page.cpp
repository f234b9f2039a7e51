#include "launcher/commands/command_line_page.hpp"

#include <fmt/format.h>

#include <string_view>

#include "launcher/commands/subcommands.hpp"
#include "launcher/settings/options.hpp"

namespace ddprun {

namespace {

constexpr char kPageHead[] = R"(# Command line

<!-- Generated from the table of options. To change it, change the table, then: scripts/docs command-line -->

<!-- not run: the shape of a command line, not one that could be run -->
```text
ddprun [OPTIONS] SCRIPT [ARGUMENTS...]
ddprun launch [OPTIONS] SCRIPT [ARGUMENTS...]
ddprun COMMAND --help
```

Options come before the script. Everything behind the script belongs to the script.

- **Spelling.** `--nproc-per-node` and `--nproc_per_node` are the same option. An option may be cut
  short as long as only one option begins like that: `--nproc 2`. A value follows as the next word or
  behind `=`.
- **Defaults from the environment.** Most options have a variable, which is named behind them. The
  command line wins over the variable. A flag's variable is `1` for on and `0` for off.
- **`ddprun launch`** stands for `python -m torch.distributed.launch`: it gives the script the argument
  `--local-rank=N`, unless `--use-env` is there.

Options marked with \* are not torchrun's.
)";

/// "`-r`, `--redirects STREAMS`"
std::string spellings(const Option& option) {
  std::string text = option.letter ? fmt::format("`-{}`, ", option.letter) : "";
  text += "`" + option.spelling();
  if (!option.is_flag()) text += (option.takes_word() ? " " : "") + std::string{option.value};
  return text + "`" + (option.own ? " \\*" : "");
}

/// "a b c" → "`a`, `b`, `c`"
std::string code_list(std::string_view words) {
  std::string list = "`";
  for (const char c : words) list += c == ' ' ? std::string{"`, `"} : std::string{c};
  return list + "`";
}

/// Text as it is, outside `code`: what looks like HTML or emphasis in the table is none.
std::string for_markdown(std::string_view text) {
  std::string out;
  bool in_code = false;
  for (const char c : text) {
    if (c == '`') in_code = !in_code;
    if (!in_code && std::string_view{"<>_*"}.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// Lines of at most kColumns, as far as there are blanks to break at; all are indented.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kColumns = 100;
  constexpr std::string_view kIndent = "  ";
  std::string out;
  while (kIndent.size() + text.size() > kColumns) {
    const std::size_t blank = text.rfind(' ', kColumns - kIndent.size());
    if (blank == std::string_view::npos) break;
    out += fmt::format("{}{}\n", kIndent, text.substr(0, blank));
    text.remove_prefix(blank + 1);
  }
  return out + fmt::format("{}{}\n", kIndent, text);
}

/// The option in a line, and below it what it does.
std::string entry(const Option& option) {
  std::string text = for_markdown(option.help) + (option.help.ends_with("...") ? "" : ".");
  if (!option.choices.empty()) text += " One of " + code_list(option.choices) + ".";
  if (!option.fallback.empty() && option.group != OptionGroup::kIgnored)
    text += " Default: `" + std::string{option.fallback} + "`.";
  if (!option.variable().empty()) {
    text += " Variable: `" + option.variable() + "`";
    if (!option.also.empty()) text += " or `" + std::string{option.also} + "`";
    text += ".";
  }
  return "- " + spellings(option) + "<br>\n" + wrapped(text);
}

}  // namespace

std::string command_line_page() {
  std::string page = kPageHead;
  const OptionGroup* group = nullptr;
  for (const Option& option : options()) {
    if (group == nullptr || *group != option.group)
      page += fmt::format("\n## {}\n\n", title(option.group));
    group = &option.group;
    page += entry(option);
  }
  page += "\n## Commands\n\n";
  for (const Subcommand& command : subcommands()) {
    if (command.help.empty()) continue;
    page += fmt::format("- `ddprun {}`<br>\n", command.name);
    page += wrapped(
        fmt::format("{}. `ddprun {} --help` shows its options.", command.help, command.name));
  }
  return page;
}

}  // namespace ddprun
