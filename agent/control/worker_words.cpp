#include "agent/control/worker_words.hpp"

#include <nlohmann/json.hpp>

#include "rendezvous/messages/in_place_fields.hpp"
#include "rendezvous/messages/message_limits.hpp"

namespace ddprun {

using nlohmann::json;

// clang-format off
namespace fields {
template <> inline constexpr auto kFields<WorkerHello> = std::tuple{
    field("local_rank", &WorkerHello::local_rank), field("round", &WorkerHello::round),
    field("resize", &WorkerHello::resize)};
template <> inline constexpr auto kFields<Parked> = std::tuple{field("round", &Parked::round)};
template <> inline constexpr auto kFields<Stuck> = std::tuple{field("round", &Stuck::round)};
}  // namespace fields
// clang-format on

namespace {

/// Throws fields::Unfit.
Holding holding_of(const json& object) {
  const auto holding = fields::from_object<Holding>(object, "holding");
  if (holding.step < -1 || holding.step > kHeldStepMax)
    fields::unfit("step", object.at("step"), "a number of steps, or -1");
  return holding;
}

/// Throws fields::Unfit.
WorkerLine line_of(const json& object) {
  if (!object.is_object() || !object.contains("type")) fields::unfit("line", object, "a type");
  const std::string type = fields::text_from(object.at("type"), "type");
  if (type == "hello") return fields::from_object<WorkerHello>(object, type);
  if (type == "holding") return holding_of(object);
  if (type == "parked") return fields::from_object<Parked>(object, type);
  if (type == "stuck") return fields::from_object<Stuck>(object, type);
  if (type == "goodbye") return CannotStay{};
  fields::unfit("type", object.at("type"), "hello, holding, parked, stuck or goodbye");
}

std::string line(json object, std::string_view type) {
  object["type"] = type;
  return fields::ascii_line(object) + "\n";
}

}  // namespace

Result<WorkerLine> parse_worker_line(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (object.is_discarded()) return Error{Error::Kind::kInvalid, "a worker says what is no JSON"};
  try {
    return line_of(object);
  } catch (const fields::Unfit& unfit) {
    return Error{Error::Kind::kInvalid, std::string{"a worker says "} + unfit.what()};
  }
}

std::string welcome_line(std::chrono::milliseconds patience) {
  const double seconds = std::chrono::duration<double>{patience}.count();
  return line({{"patience_s", seconds}}, "welcome");
}

std::string hold_line(int round) { return line({{"round", round}}, "hold"); }

std::string leave_after_line(const LeaveAfter& order) {
  return line(fields::to_object(order), "leave_after");
}

std::string leave_line(int round) { return line({{"round", round}}, "leave"); }

std::string enter_line(int round, const std::map<std::string, std::string>& environment) {
  return line({{"round", round}, {"environment", environment}}, "enter");
}

}  // namespace ddprun
