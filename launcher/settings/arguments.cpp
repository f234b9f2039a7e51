#include "launcher/settings/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "launcher/settings/options.hpp"
#include "launcher/settings/words.hpp"

namespace ddprun {

namespace {

// --- Which option a word names ---

/// What other launchers call an option, with and without underscores: mpirun, srun, accelerate,
/// deepspeed; and what people guess.
constexpr auto kNamesElsewhere = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"n", "nproc-per-node"},
    {"np", "nproc-per-node"},
    {"nprocs", "nproc-per-node"},
    {"num-proc", "nproc-per-node"},
    {"num-processes", "nproc-per-node"},
    {"num-gpus", "nproc-per-node"},
    {"ntasks-per-node", "nproc-per-node"},
    {"N", "nnodes"},
    {"nodes", "nnodes"},
    {"num-nodes", "nnodes"},
    {"num-machines", "nnodes"},
    {"H", "hosts"},
    {"host", "hosts"},
    {"machine-rank", "node-rank"},
    {"main-process-ip", "master-addr"},
    {"main-process-port", "master-port"},
    {"status-port", "status-addr"},
});

/// The option that was meant by that name; "": none.
std::string_view meant_by(const std::string& name) {
  const std::string dashed = with_dashes(name);
  for (const auto& [elsewhere, here] : kNamesElsewhere)
    if (elsewhere == dashed) return here;
  std::vector<std::string_view> names;
  for (const Option& option : options()) names.push_back(option.name);
  return closest_word(dashed, names);
}

Error no_such_option(const std::string& word, std::string_view meant) {
  std::string text = "there is no option '" + word + "'";
  if (!meant.empty()) text += "; did you mean --" + std::string{meant} + "?";
  return invalid(text);
}

std::string listed(const std::vector<const Option*>& options) {
  std::string out;
  for (const Option* option : options)
    out += (out.empty() ? "" : option == options.back() ? " or " : ", ") + option->spelling();
  return out;
}

/// Finds the option that `name` spells or begins, as "nproc" does. torchrun's options are searched
/// before our own, so that whatever is unique in torchrun stays unique here.
Result<const Option*> find_option(const std::string& name) {
  const std::string dashed = with_dashes(name);
  for (const bool own : {false, true}) {
    std::vector<const Option*> candidates;
    for (const Option& option : options()) {
      if (option.name == dashed) return &option;
      if (option.own == own && option.name.starts_with(dashed)) candidates.push_back(&option);
    }
    if (candidates.size() == 1) return candidates.front();
    if (candidates.size() > 1)
      return invalid("'--" + name + "' is short for more than one option: " + listed(candidates));
  }
  return no_such_option("--" + name, meant_by(name));
}

/// Finds the option of the first letter in "-r3". Behind one dash, a whole name was meant for two.
Result<const Option*> find_short_option(const std::string& word) {
  for (const Option& option : options())
    if (option.letter == word[1]) return &option;
  const std::string name = word.substr(1, word.find('=') - 1);
  const auto whole = find_option(name);
  return no_such_option("-" + name, whole ? std::string_view{(*whole)->name} : meant_by(name));
}

/// An option of the command line, and the value that the same word gives it.
struct Named {
  const Option* option;
  std::optional<std::string> value;
};

Result<Named> named(const std::string& word) {
  if (!word.starts_with("--")) {  // -m, -r 3, -r3, -r=3
    const auto option = find_short_option(word);
    if (!option) return option.error();
    if (word.size() == 2) return Named{*option, std::nullopt};
    return Named{*option, word.substr(word[2] == '=' ? 3 : 2)};
  }
  const std::size_t equals = word.find('=');
  const auto option =
      find_option(word.substr(2, equals == std::string::npos ? equals : equals - 2));
  if (!option) return option.error();
  if (equals == std::string::npos) return Named{*option, std::nullopt};
  return Named{*option, word.substr(equals + 1)};
}

/// Whether the word would be an option where no value is expected. torchrun takes no word for a
/// value that begins with '-' and is no number. Here a value such as "-p 2222" may, as long as no
/// option does.
bool is_option(const std::string& word) {
  const bool is_long = word.size() > 2 && word.starts_with("--");
  return (is_long || (word.size() == 2 && word[0] == '-')) && named(word).has_value();
}

/// What the words give each option, by its name, one after the other. A flag has the value "1".
using GivenValues = std::map<std::string_view, std::vector<std::string>>;

/// Reads the options, and puts the words that follow them into `script`.
Result<GivenValues> read_options(const std::vector<std::string>& words,
                                 std::vector<std::string>& script) {
  GivenValues given;
  auto word = words.begin();
  for (; word != words.end() && word->size() > 1 && word->front() == '-'; ++word) {
    if (*word == "--") {
      ++word;
      break;
    }
    const auto read = named(*word);
    if (!read) return read.error();
    const Option& option = *read->option;
    std::vector<std::string>& values = given[option.name];
    if (option.is_flag()) {
      if (read->value) return invalid(option.spelling() + " takes no value, in '" + *word + "'");
      values.emplace_back("1");
    } else if (read->value || !option.bare.empty()) {
      values.push_back(read->value.value_or(std::string{option.bare}));
    } else {
      const bool last = ++word == words.end();
      if (last || is_option(*word))
        return invalid(option.spelling() + " needs a value: " + std::string{option.value} +
                       (last ? "" : " (the next word is the option " + *word + ")"));
      values.push_back(*word);
    }
  }
  script.assign(word, words.end());
  return given;
}

// --- Settings ---

/// Returns what the words set `option` to, the last of them, or its default.
Setting from_words(const Option& option, const GivenValues& given) {
  const auto found = given.find(option.name);
  if (found == given.end())
    return {option.is_flag() ? "0" : std::string{option.fallback}, option.spelling()};
  return {found->second.back(), option.spelling(), true, found->second};
}

/// Reads the text of a flag's variable. torchrun takes only 0 and 1.
std::optional<bool> parse_switch(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* on : {"1", "true", "yes", "on"})
    if (text == on) return true;
  for (const char* off : {"0", "false", "no", "off"})
    if (text == off) return false;
  return std::nullopt;
}

/// Returns what a variable sets `option` to, if one does. An empty variable sets nothing, as in
/// torchrun.
std::optional<Setting> from_environment(const Option& option,
                                        const EnvironmentLookup& environment) {
  for (const std::string& variable : {option.variable(), std::string{option.also}}) {
    if (variable.empty()) continue;
    const auto text = environment(variable);
    if (text && !text->empty()) return Setting{*text, variable, true};
  }
  return std::nullopt;
}

Result<Setting> effective(const Option& option, Setting setting) {
  if (option.is_flag() && setting.given) {
    const auto on = parse_switch(setting.text);
    if (!on) return invalid(setting.source + " '" + setting.text + "': expected 1 or 0");
    setting.text = *on ? "1" : "0";
  }
  const std::vector<std::string_view> choices = option.choice_list();
  if (choices.empty() || !setting.given || std::ranges::count(choices, setting.text) > 0)
    return setting;
  const std::string meant{closest_word(setting.text, choices)};
  const std::string advice =
      meant.empty() ? std::string{option.other} : "did you mean " + meant + "?";
  return invalid(fmt::format("{} '{}': expected one of {}{}{}", setting.source, setting.text,
                             fmt::join(choices, ", "), advice.empty() ? "" : "; ", advice));
}

}  // namespace

const Setting& Settings::operator[](std::string_view option) const {
  const auto found = settings_.find(option);
  if (found == settings_.end()) throw std::logic_error{"no option " + std::string{option}};
  return found->second;
}

void Settings::set(std::string_view option, Setting setting) {
  settings_.insert_or_assign(std::string{option}, std::move(setting));
}

Result<Arguments> parse_arguments(const std::vector<std::string>& words,
                                  const EnvironmentLookup& environment) {
  Arguments arguments;
  arguments.launch = !words.empty() && words.front() == "launch";
  const auto given =
      read_options({words.begin() + arguments.launch, words.end()}, arguments.script);
  if (!given) return given.error();
  const bool only_prints =
      given->contains("help") || given->contains("version") || given->contains("man");
  for (const Option& option : options()) {
    Setting setting = from_words(option, *given);
    if (!setting.given && !only_prints)
      if (auto variable = from_environment(option, environment)) setting = std::move(*variable);
    auto accepted = effective(option, std::move(setting));
    if (!accepted) return accepted.error();
    arguments.settings.set(option.name, std::move(*accepted));
  }
  return arguments;
}

namespace {

// Scripts have no options with such names. Those of others, as --master-port and --log-dir, are
// common in scripts.
constexpr std::array<std::string_view, 7> kUnmistakable{
    "nproc-per-node", "nnodes",    "rdzv-id",     "rdzv-backend",
    "rdzv-endpoint",  "rdzv-conf", "max-restarts"};

/// Returns "nproc-per-node" for "--nproc_per_node=2"; "": the word is no long option.
std::string option_in(const std::string& word) {
  return word.starts_with("--") ? with_dashes(word.substr(2, word.find('=') - 2)) : "";
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names)
    list += (list.empty() ? "--" : name == names.back() ? " and --" : ", --") + name;
  return list;
}

}  // namespace

std::string misplaced_options(const Arguments& arguments) {
  std::vector<std::string> misplaced;
  const auto& words = arguments.script;
  for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
    const std::string name = word == words.begin() ? "" : option_in(*word);
    const bool ours =
        std::ranges::count(kUnmistakable, name) > 0 && !arguments.settings[name].given;
    if (ours && std::ranges::count(misplaced, name) == 0) misplaced.push_back(name);
  }
  if (misplaced.empty()) return "";
  return fmt::format("{} behind {} {} to the script: options of ddprun come before the script",
                     listed(misplaced), words.front(), misplaced.size() == 1 ? "goes" : "go");
}

}  // namespace ddprun
