#include "launcher/settings/shell_completion.hpp"

#include <spdlog/fmt/fmt.h>

#include "launcher/settings/options.hpp"

namespace ddprun {

namespace {

/// Escapes `text` for single quotes of a shell, and puts a backslash before each of `special`: in
/// zsh's descriptions ':' and brackets mean something.
std::string quoted(std::string_view text, std::string_view special = "") {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

bool takes_file(const Option& option) { return option.value == "DIR"; }

/// The words that its value may be, or some of them; "": there is nothing to offer.
std::string_view choices_of(const Option& option) {
  return option.name == "nproc-per-node" ? "auto gpu cpu" : option.choices;
}

// bash has to know the options that take a value to find the word where the script begins.
std::string bash_completion() {
  std::string all, with_value, cases;
  for (const Option& option : options()) {
    const std::string name = option.spelling();
    all.append(name).append(" ");
    if (!option.takes_word()) continue;
    with_value.append(with_value.empty() ? "" : "|").append(name);
    if (option.letter) with_value += std::string{"|-"} + option.letter;
    if (takes_file(option))
      cases += fmt::format("    {}) compopt -o dirnames; return ;;\n", name);
    else if (!choices_of(option).empty())
      cases +=
          fmt::format("    {}) mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\"); return ;;\n",
                      name, choices_of(option));
  }
  return fmt::format(R"(# ddprun: completion for bash
_ddprun() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]//_/-}} in
      {1}) i=$((i + 1)) ;;
      -*) ;;
      launch) [ "$i" = 1 ] || {{ compopt -o default; return; }} ;;
      *) compopt -o default; return ;; # the script's own arguments
    esac
  done
  case ${{prev//_/-}} in
{2}    {1}) compopt -o default; return ;;
  esac
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W '{0}' -- "$cur")
  else
    compopt -o default
  fi
}}
complete -F _ddprun ddprun
)",
                     all, with_value, cases);
}

std::string zsh_completion() {
  std::string specs;
  for (const Option& option : options()) {
    const std::string help = quoted(option.help, ":[]\\");
    std::string argument;
    if (option.takes_word()) {
      const std::string message = quoted(option.value, ":[]\\");
      std::string action;
      if (takes_file(option)) action = "_files -/";
      if (!choices_of(option).empty()) action = fmt::format("({})", choices_of(option));
      argument = fmt::format(":{}:{}", message, action);
    }
    specs += fmt::format("  '{}[{}]{}' \\\n", option.spelling(), help, argument);
    if (option.letter) specs += fmt::format("  '-{}[{}]{}' \\\n", option.letter, help, argument);
  }
  return "#compdef ddprun\n# ddprun: completion for zsh\n_arguments -S \\\n" + specs +
         "  '1:script:_files' \\\n  '*::argument:_default'\n";
}

std::string fish_completion() {
  std::string out = "# ddprun: completion for fish\n";
  for (const Option& option : options()) {
    out += fmt::format("complete -c ddprun -l {}", option.name);
    if (option.letter) out += fmt::format(" -s {}", option.letter);
    if (option.takes_word()) out += takes_file(option) ? " -r" : " -x";
    if (!choices_of(option).empty()) out += fmt::format(" -a '{}'", choices_of(option));
    out += fmt::format(" -d '{}'\n", quoted(option.help));
  }
  return out;
}

/// tcsh matches a word by its beginning, or by the word before it.
std::string tcsh_completion() {
  std::string names, values;
  for (const Option& option : options()) {
    names.append(names.empty() ? "" : " ").append(option.name);
    const std::string before = "'n/" + option.spelling();
    if (takes_file(option))
      values += before + "/d/' ";
    else if (!choices_of(option).empty() && option.takes_word())
      values += fmt::format("{}/({})/' ", before, choices_of(option));
  }
  return fmt::format("# ddprun: completion for tcsh\ncomplete ddprun {}'c/--/({})/' 'p/*/f/'\n",
                     values, names);
}

}  // namespace

std::string shell_completion(std::string_view shell) {
  if (shell == "tcsh") return tcsh_completion();
  if (shell == "zsh") return zsh_completion();
  if (shell == "fish") return fish_completion();
  return bash_completion();
}

}  // namespace ddprun
