#include "launcher/settings/misplaced_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "launcher/settings/options.hpp"

namespace ddprun {

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
