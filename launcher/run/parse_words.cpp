#include "launcher/run/parse_words.hpp"

#include <CLI/CLI.hpp>

#include "agent/output/console.hpp"

namespace ddprun {

std::optional<Result<int>> parse_words(CLI::App& app, const std::vector<std::string>& words,
                                       const Stage& stage) {
  try {
    app.parse(std::vector<std::string>{words.rbegin(), words.rend()});
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    stage.out.write(app.help());
    return Result<int>{0};
  } catch (const CLI::ParseError& e) {
    return Result<int>{Error{Error::Kind::kInvalid, app.get_name() + ": " + e.what()}};
  }
}

}  // namespace ddprun
