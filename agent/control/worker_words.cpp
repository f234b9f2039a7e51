#include "agent/control/worker_words.hpp"

#include "base/json/json_text.hpp"
#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/messages/report_fields.hpp"

namespace ddprun {

namespace {

struct Welcome {
  double patience_s = 0;
};
struct Enter {
  int round = 0;
  std::map<std::string, std::string> environment;
};

}  // namespace

// clang-format off
namespace fields {
template <> inline constexpr auto kFields<WorkerHello> = message("hello",
    field<&WorkerHello::local_rank>("local_rank"), field<&WorkerHello::round>("round"),
    field<&WorkerHello::resize>("resize"));
template <> inline constexpr auto kFields<Parked> = message("parked", field<&Parked::round>("round"));
template <> inline constexpr auto kFields<Stuck> = message("stuck", field<&Stuck::round>("round"));
template <> inline constexpr auto kFields<Welcome> = message("welcome",
    field<&Welcome::patience_s>("patience_s"));
template <> inline constexpr auto kFields<AskToHold> = message("hold",
    field<&AskToHold::round>("round"));
template <> inline constexpr auto kFields<AskToLeave> = message("leave",
    field<&AskToLeave::round>("round"));
template <> inline constexpr auto kFields<Enter> = message("enter",
    field<&Enter::round>("round"), uncut<&Enter::environment>("environment"));
}  // namespace fields
// clang-format on

namespace {

/// Throws fields::Unfit.
Holding holding_of(const nlohmann::json& object) {
  const auto holding = fields::from_object<Holding>(object, "holding");
  if (holding.step < -1 || holding.step > kHeldStepMax)
    fields::unfit("step", *member(object, "step"), "a number of steps, or -1");
  return holding;
}

/// Throws fields::Unfit.
WorkerLine line_of(const nlohmann::json& object) {
  const auto* told = member(object, "type");
  if (told == nullptr) fields::unfit("line", object, "a type");
  const std::string type = fields::text_from(*told, "type");
  if (type == "hello") return fields::from_object<WorkerHello>(object, type);
  if (type == "holding") return holding_of(object);
  if (type == "parked") return fields::from_object<Parked>(object, type);
  if (type == "stuck") return fields::from_object<Stuck>(object, type);
  if (type == "goodbye") return CannotStay{};
  fields::unfit("type", *told, "hello, holding, parked, stuck or goodbye");
}

std::string line(const fields::Object& message) {
  return fields::to_line(message, JsonStyle::kAscii);
}

}  // namespace

Result<WorkerLine> parse_worker_line(std::string_view text) try {
  const auto object = parse_json(text);
  if (!object) return invalid("a worker says what is no JSON");
  return line_of(**object);
} catch (const fields::Unfit& unfit) {
  return invalid(std::string{"a worker says "} + unfit.what());
}

std::string welcome_line(std::chrono::milliseconds patience) {
  return line(Welcome{std::chrono::duration<double>{patience}.count()});
}

std::string order_line(const AskToHold& order) { return line(order); }
std::string order_line(const AskToLeaveAfter& order) { return line(order.order); }
std::string order_line(const AskToLeave& order) { return line(order); }

std::string enter_line(int round, const std::map<std::string, std::string>& environment) {
  return line(Enter{round, environment});
}

}  // namespace ddprun
