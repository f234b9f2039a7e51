#include "agent/workers/recorded_error.hpp"

#include "base/json/json_text.hpp"

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

}  // namespace ddprun
