#include "agent/workers/round_folder.hpp"

#include <filesystem>
#include <functional>

#include "base/json/json_text.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

std::optional<RecordedError> parse_recorded_error(const std::string& text) {
  const ParsedJson in = json_or_null(text);
  const auto* told = member(*in, "message");
  if (const std::string* message = text_in(told)) return RecordedError{*message, ""};
  const std::string* message = text_in(member(told, "message"));
  if (message == nullptr) return std::nullopt;
  const auto* more = member(told, "extraInfo");
  if (more != nullptr && !is_object(more)) return std::nullopt;
  const auto* stack = member(more, "py_callstack");
  if (stack != nullptr && text_in(stack) == nullptr) return std::nullopt;
  return RecordedError{*message, text_at(more, "py_callstack")};
}

std::optional<RecordedError> read_error_file(const std::filesystem::path& path) {
  const auto text = read_text(path, kErrorFileBytesMax);
  if (!text && text.error().kind == Error::Kind::kInvalid)
    return RecordedError{"(the record is longer than 1 MiB: look into its file)", ""};
  return parse_recorded_error(text ? *text : "");
}

void remove_error_file(const std::filesystem::path& path) {
  std::error_code ignored;  // usually there is none
  std::filesystem::remove(path, ignored);
}

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
