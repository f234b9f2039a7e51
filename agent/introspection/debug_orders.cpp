#include "agent/introspection/debug_orders.hpp"

#include <type_traits>

#include "base/json/json_fields.hpp"
#include "base/json/json_text.hpp"

namespace ddprun {

// clang-format off
namespace fields {
template <> inline constexpr auto kFields<OpenDebugger> = message("debug",
    uncut<&OpenDebugger::socket>("socket"), field<&OpenDebugger::port>("port"));
template <> inline constexpr auto kFields<InterruptDebugged> = message("interrupt");
template <> inline constexpr auto kFields<LeaveDebugger> = message("leave");
template <> inline constexpr auto kFields<GroupTimeouts> = message("timeouts",
    field<&GroupTimeouts::extended>("extended"));
}  // namespace fields
// clang-format on

std::string kind_of(const DebugOrder& order) {
  return std::visit(
      [](const auto& one) {
        return std::string{fields::kFields<std::remove_cvref_t<decltype(one)>>.type};
      },
      order);
}

std::string text_of(const DebugOrder& order) {
  return std::visit([](const auto& one) { return fields::to_line(one); }, order);
}

std::optional<DebuggedRank> read_wait(std::string_view text) {
  const auto told = parse_json(text);
  if (!told || !is_object(&**told)) return std::nullopt;
  return DebuggedRank{.waits = true, .at = text_at(&**told, "at"), .why = text_at(&**told, "why")};
}

}  // namespace ddprun
