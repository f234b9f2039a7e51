#include "launcher/settings/shell_completion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

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

/// Escapes `text` for single quotes of fish, in which a backslash is one only before another or a
/// quote.
std::string fish_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

bool takes_file(const Option& option) { return option.value == "DIR"; }

/// The words that its value may be, or some of them; "": there is nothing to offer.
std::string_view choices_of(const Option& option) {
  return option.name == "nproc-per-node" ? "auto gpu cpu" : option.choices;
}

// The options of a command are those that its --help shows, so a script asks for them when somebody
// types. It asks by this command of sed, and for the names of running jobs by the next one.
constexpr char kOptionsOfHelp[] = R"(s/^  \(-[a-zA-Z], *\)*\(--[a-z-]*\).*/\2/p)";
constexpr char kJobsOfList[] = R"(1d; s/ .*//; p)";
constexpr char kOfJob[] = "status top logs dump stop";  // these commands are about a job
constexpr char kOfCheckpoint[] = "ls verify";

std::string joined(const std::vector<HelpEntry>& commands, const std::string& between) {
  std::string out;
  for (const HelpEntry& command : commands) out += (out.empty() ? "" : between) + command.word;
  return out;
}

std::string with_bars(std::string words) {
  std::ranges::replace(words, ' ', '|');
  return words;
}

// The name of a job may have been chosen by anybody, so bash must not expand it.
std::string bash_commands(const std::vector<HelpEntry>& commands) {
  return fmt::format(R"sh(# ddprun: completion for bash
_ddprun_command() {{
  local word asked=$1
  while read -r word; do
    [[ $word != "$cur"* ]] || COMPREPLY+=("$(printf %q "$word")")
  done < <(
    if [[ $cur == -* ]]; then
      "$asked" "${{COMP_WORDS[1]}}" --help | sed -n '{1}'
    elif [[ ${{COMP_WORDS[1]}} == checkpoint && $COMP_CWORD == 2 ]]; then
      printf '%s\n' {4}
    else
      case ${{COMP_WORDS[1]}} in
        {3}) "$asked" ls | sed -n '{2}' ;;
      esac
    fi 2>/dev/null
  )
  [[ $cur == -* ]] || compopt -o default
}}
_ddprun() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} i
  COMPREPLY=()
  if ((COMP_CWORD > 1)); then
    case ${{COMP_WORDS[1]}} in
      {0}) _ddprun_command "${{COMP_WORDS[0]}}"; return ;;
    esac
  elif [[ $cur != -* ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -W 'launch {5}' -- "$cur"; compgen -f -- "$cur")
    return
  fi
)sh",
                     joined(commands, "|"), kOptionsOfHelp, kJobsOfList, with_bars(kOfJob),
                     kOfCheckpoint, joined(commands, " "));
}

// bash has to know the options that take a value to find the word where the script begins.
std::string bash_completion(const std::vector<HelpEntry>& commands) {
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
  return bash_commands(commands) + fmt::format(R"(  for ((i = 1; i < COMP_CWORD; i++)); do
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

std::string zsh_completion(const std::vector<HelpEntry>& commands) {
  std::string specs, described;
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
  for (const HelpEntry& command : commands)
    described += fmt::format("    '{}:{}'\n", command.word, quoted(command.text, ":\\"));
  return fmt::format(R"sh(#compdef ddprun
# ddprun: completion for zsh
_ddprun_first() {{
  local -a commands=(
    'launch:as torch.distributed.launch'
{0}  )
  _describe -t commands command commands
  _files
}}
_ddprun_command() {{
  local -a found
  if [[ ${{words[CURRENT]}} == -* ]]; then
    found=(${{(f)"$(${{(Q)words[1]}} ${{words[2]}} --help 2>/dev/null | sed -n '{2}')"}})
  elif [[ ${{words[2]}} == checkpoint && $CURRENT == 3 ]]; then
    found=({5})
  elif [[ ${{words[2]}} == ({4}) ]]; then
    found=(${{(f)"$(${{(Q)words[1]}} ls 2>/dev/null | sed -n '{3}')"}})
  fi
  compadd -a found
  [[ ${{words[CURRENT]}} == -* ]] || _files
}}
if ((CURRENT > 2)) && [[ ${{words[2]}} == ({1}) ]]; then
  _ddprun_command
  return
fi
_arguments -S \
)sh",
                     described, joined(commands, "|"), kOptionsOfHelp, kJobsOfList,
                     with_bars(kOfJob), kOfCheckpoint) +
         specs + "  '1:script:_ddprun_first' \\\n  '*::argument:_default'\n";
}

std::string fish_completion(const std::vector<HelpEntry>& commands) {
  std::string out = fmt::format(R"(# ddprun: completion for fish
function __ddprun_command
  set -l words (commandline -opc)
  test (count $words) -gt 1; and contains -- $words[2] {0}
end
function __ddprun_words
  set -l words (commandline -opc)
  $words[1] $words[2] --help 2>/dev/null | sed -n '{1}'
  if test $words[2] = checkpoint
    printf '%s\n' {4}
  else if contains -- $words[2] {3}
    $words[1] ls 2>/dev/null | sed -n '{2}'
  end
end
complete -c ddprun -n __ddprun_command -a '(__ddprun_words)'
complete -c ddprun -n __fish_is_first_token -a launch -d 'as torch.distributed.launch'
)",
                                joined(commands, " "), fish_text(kOptionsOfHelp), kJobsOfList,
                                kOfJob, kOfCheckpoint);
  for (const HelpEntry& command : commands)
    out += fmt::format("complete -c ddprun -n __fish_is_first_token -a {} -d '{}'\n", command.word,
                       fish_text(command.text));
  for (const Option& option : options()) {
    out += fmt::format("complete -c ddprun -n 'not __ddprun_command' -l {}", option.name);
    if (option.letter) out += fmt::format(" -s {}", option.letter);
    if (option.takes_word()) out += takes_file(option) ? " -r" : " -x";
    if (!choices_of(option).empty()) out += fmt::format(" -a '{}'", choices_of(option));
    out += fmt::format(" -d '{}'\n", fish_text(option.help));
  }
  return out;
}

/// tcsh matches a word by its beginning, by the word before it, or by its place, and takes the
/// first that fits.
std::string tcsh_completion(const std::vector<HelpEntry>& commands) {
  std::string names, values, words;
  for (const Option& option : options()) {
    names.append(names.empty() ? "" : " ").append(option.name);
    const std::string before = "'n/" + option.spelling();
    if (takes_file(option))
      values += before + "/d/' ";
    else if (!choices_of(option).empty() && option.takes_word())
      values += fmt::format("{}/({})/' ", before, choices_of(option));
  }
  for (const HelpEntry& command : commands)
    words +=
        fmt::format("'n@{0}@`ddprun {0} --help | sed -n \"{1}\"`@' ", command.word, kOptionsOfHelp);
  return fmt::format(
      "# ddprun: completion for tcsh\n"
      "complete ddprun {}{}'c/--/({})/' 'C@*/*@f@' 'p@1@`echo launch {}; ls`@' 'p/*/f/'\n",
      values, words, names, joined(commands, " "));
}

}  // namespace

std::string shell_completion(std::string_view shell, const std::vector<HelpGroup>& groups) {
  std::vector<HelpEntry> commands;
  for (const HelpGroup& group : groups)
    std::ranges::copy(group.entries, std::back_inserter(commands));
  if (shell == "tcsh") return tcsh_completion(commands);
  if (shell == "zsh") return zsh_completion(commands);
  if (shell == "fish") return fish_completion(commands);
  return bash_completion(commands);
}

}  // namespace ddprun
