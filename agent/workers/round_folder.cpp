#include "agent/workers/round_folder.hpp"

#include <filesystem>
#include <functional>
#include <string>

#include "agent/workers/error_file.hpp"

namespace ddprun {

namespace {

void make_folders(const NodeFacts& node, const StartRound& round, int workers) {
  const auto directory = round_directory(node, round);
  if (directory.empty()) return;
  std::error_code not_made;
  std::filesystem::create_directory(directory, not_made);
  for (int local_rank = 0; local_rank < workers; ++local_rank) {
    std::filesystem::create_directory(directory / std::to_string(local_rank), not_made);
    remove_error_file(error_file(node, round, local_rank));
  }
}

}  // namespace

void make_round_folder(const std::shared_ptr<LogWriter>& files, const NodeFacts& node,
                       const StartRound& round, int workers) {
  const std::function<bool()> make = [node, round, workers] {
    make_folders(node, round, workers);
    return true;
  };
  answer_by(files, round_directory(node, round), make);
}

}  // namespace ddprun
