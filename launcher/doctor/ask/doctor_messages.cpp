#include "launcher/doctor/ask/doctor_messages.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json/json_fields.hpp"
#include "base/json/json_text.hpp"
#include "base/match.hpp"
#include "launcher/doctor/bench/measurements.hpp"
#include "launcher/doctor/read/addresses.hpp"
#include "launcher/doctor/read/reading_fields.hpp"
#include "launcher/hosts/host_list.hpp"

namespace ddprun::fields {

constexpr TextLimit kText{4096};
constexpr std::size_t kVariablesMax = 100;

// clang-format off
template <> inline constexpr auto kFields<Examine> = table(
    text<&Examine::node>("node", kText), text<&Examine::log_dir>("log_dir", kText),
    text<&Examine::checkpoint_dir>("checkpoint_dir", kText), text<&Examine::script>("script", kText),
    may_miss(field<&Examine::keeps_checkpoints>("keeps_checkpoints")),
    text<&Examine::directory>("directory", kText), text<&Examine::token>("token", kText),
    texts<&Examine::environment>("environment", kText, kVariablesMax));
template <> inline constexpr auto kFields<Peer> = table(
    text<&Peer::node>("node", kText), text<&Peer::host>("host", kText), field<&Peer::port>("port"),
    text<&Peer::use>("use", kText), text<&Peer::name>("name", kText));
template <> inline constexpr auto kFields<VisitPeers> = table(
    list<&VisitPeers::peers>("peers", 4 * kHostsMax));  // each by up to four addresses

// The first field of an answer is in no other one.
template <> inline constexpr auto kFields<Examined> = table(
    field<&Examined::reading>("reading"), uncut<&Examined::host>("host"),
    field<&Examined::port>("port"));
template <> inline constexpr auto kFields<ClockTold> = table(field<&ClockTold::unix_us>("unix_us"));
template <> inline constexpr auto kFields<PeersVisited> = table(
    field<&PeersVisited::peers>("visited"));
template <> inline constexpr auto kFields<BenchReady> = table(
    uncut<&BenchReady::machine>("machine"), field<&BenchReady::port>("port"));
// clang-format on

}  // namespace ddprun::fields

namespace ddprun {

namespace {

using nlohmann::json;

constexpr int kDoctorProtocol = 1;

std::string line_of_message(json message) {
  message["doctor"] = kDoctorProtocol;
  return json_text(message) + "\n";
}

Error no_message(const std::string& why) {
  return invalid("this is no message of ddprun doctor, is it another version? " + why);
}

/// Throws fields::Unfit.
ParsedJson parse_message(std::string_view line) {
  auto message = parse_json(line);
  if (!message) throw fields::Unfit{message.error().message};
  if (integer_in(&fields::member_in(**message, "doctor", "message")) != kDoctorProtocol)
    throw fields::Unfit{"another version"};
  return std::move(*message);
}

/// Throws fields::Unfit, also when it is none of these answers.
template <typename Answer, typename... Others>
FromNode answer_in(const json& message) {
  if constexpr (sizeof...(Others) > 0)
    if (member(message, fields::kFields<Answer>.fields[0].name) == nullptr)
      return answer_in<Others...>(message);
  return fields::from_object<Answer>(message, "message");
}

ToNode bench_of(const json& message) {
  const auto what = fields::text_from(message.at("bench"), "bench");
  if (what == "prepare") return PrepareBench{};
  if (what == "node") return MeasureNode{};
  return MeasureLink{
      fields::from_object<Peer>(fields::member_in(message, "peer", "message"), "peer")};
}

}  // namespace

std::string encode(const ToNode& message) {
  return match(
      message,
      [](const Examine& m) {
        return line_of_message({{"examine", fields::to_object(m)}});
      },
      [](const AskClock&) {
        return line_of_message({{"clock", true}});
      },
      [](const VisitPeers& m) { return line_of_message(fields::to_object(m)); },
      [](const PrepareBench&) {
        return line_of_message({{"bench", "prepare"}});
      },
      [](const MeasureNode&) {
        return line_of_message({{"bench", "node"}});
      },
      [](const MeasureLink& m) {
        return line_of_message({{"bench", "link"}, {"peer", fields::to_object(m.peer)}});
      });
}

std::string encode(const FromNode& message) {
  return match(
      message,  //
      [](const auto& m) { return line_of_message(fields::to_object(m)); },
      [](const NodeMeasured& m) {
        return line_of_message({{"speeds", to_json(m.speeds)}});
      },
      [](const LinkMeasured& m) {
        return line_of_message({{"link", to_json(m.speed)}});
      });
}

Result<ToNode> decode_to_node(std::string_view line) try {
  const ParsedJson parsed = parse_message(line);
  const json& message = *parsed;
  if (const json* examine = member(message, "examine"))
    return ToNode{fields::from_object<Examine>(*examine, "examine")};
  if (message.contains("clock")) return ToNode{AskClock{}};
  if (message.contains("bench")) return bench_of(message);
  return ToNode{fields::from_object<VisitPeers>(message, "message")};
} catch (const fields::Unfit& unfit) {
  return no_message(unfit.what());
}

Result<FromNode> decode_from_node(std::string_view line) try {
  const ParsedJson parsed = parse_message(line);
  const json& message = *parsed;
  if (const json* speeds = member(message, "speeds"))
    return FromNode{NodeMeasured{node_speeds_of(*speeds)}};
  if (const json* link = member(message, "link"))
    return FromNode{LinkMeasured{link_speed_of(*link)}};
  return answer_in<ClockTold, BenchReady, Examined, PeersVisited>(message);
} catch (const fields::Unfit& unfit) {
  return no_message(unfit.what());
}

bool is_doctors_line(std::string_view line) {
  return line.starts_with("{") && line.find("\"doctor\":") != std::string_view::npos;
}

std::vector<Peer> ways_to(const Examined& node) {
  const NodeReading& reading = node.reading;
  if (node.port == 0) return {};
  const std::string name = reading.names.own_name ? reading.names.own_name->question : "";
  std::vector<Peer> ways{{reading.node, node.host, node.port, "", name}};
  const auto add = [&](const char* use, const std::optional<ChosenAddress>& choice) {
    if (!choice || is_loopback_text(choice->address)) return;
    if (std::ranges::count(ways, choice->address, &Peer::host) > 0) return;
    ways.push_back({reading.node, choice->address, node.port, use, ""});
  };
  add("Gloo", address_for_gloo(reading));
  // Without GPUs, NCCL is of no use to this node.
  if (reading.gpus || !reading.nccl_interfaces.empty()) add("NCCL", address_for_nccl(reading));
  add("IPv6", ipv6_address(reading));
  return ways;
}

}  // namespace ddprun
