#include "launcher/doctor/doctor_messages.hpp"

#include <nlohmann/json.hpp>

#include "base/json/json_fields.hpp"
#include "base/json/json_text.hpp"
#include "base/match.hpp"
#include "launcher/doctor/bench/measurements_json.hpp"
#include "launcher/doctor/reading_json.hpp"
#include "launcher/hosts/host_list.hpp"

namespace ddprun::fields {

constexpr TextLimit kText{4096};
constexpr std::size_t kVariablesMax = 100;

// clang-format off
template <> inline constexpr auto kFields<Examine> = table(
    text<&Examine::node>("node", kText), text<&Examine::log_dir>("log_dir", kText),
    text<&Examine::checkpoint_dir>("checkpoint_dir", kText), text<&Examine::script>("script", kText),
    text<&Examine::directory>("directory", kText), text<&Examine::token>("token", kText),
    texts<&Examine::environment>("environment", kText, kVariablesMax));
template <> inline constexpr auto kFields<Peer> = table(
    text<&Peer::node>("node", kText), text<&Peer::host>("host", kText), field<&Peer::port>("port"),
    text<&Peer::use>("use", kText), text<&Peer::name>("name", kText));
template <> inline constexpr auto kFields<VisitPeers> = table(
    list<&VisitPeers::peers>("peers", 4 * kHostsMax));  // each by up to four addresses
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
      message,
      [](const Examined& m) {
        return line_of_message(
            {{"reading", to_json(m.reading)}, {"host", m.host}, {"port", m.port}});
      },
      [](const ClockTold& m) {
        return line_of_message({{"unix_us", m.unix_us}});
      },
      [](const PeersVisited& m) {
        return line_of_message({{"visited", to_json({.peers = m.peers})}});
      },
      [](const BenchReady& m) {
        return line_of_message({{"machine", m.machine}, {"port", m.port}});
      },
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
  const auto port = [&] {
    return fields::integer_from<std::uint16_t>(fields::member_in(message, "port", "message"),
                                               "port");
  };
  if (const json* unix_us = member(message, "unix_us"))
    return FromNode{ClockTold{fields::integer_from<std::int64_t>(*unix_us, "unix_us")}};
  if (const json* machine = member(message, "machine"))
    return FromNode{BenchReady{fields::text_from(*machine, "machine"), port()}};
  if (const json* speeds = member(message, "speeds"))
    return FromNode{NodeMeasured{node_speeds_of(*speeds)}};
  if (const json* link = member(message, "link"))
    return FromNode{LinkMeasured{link_speed_of(*link)}};
  const bool examined = message.contains("reading");
  auto reading =
      reading_in(fields::member_in(message, examined ? "reading" : "visited", "message"));
  if (!reading) return reading.error();
  if (!examined) return FromNode{PeersVisited{std::move(reading->peers)}};
  return FromNode{Examined{std::move(*reading),
                           fields::text_from(fields::member_in(message, "host", "message"), "host"),
                           port()}};
} catch (const fields::Unfit& unfit) {
  return no_message(unfit.what());
}

bool is_doctors_line(std::string_view line) {
  return line.starts_with("{") && line.find("\"doctor\":") != std::string_view::npos;
}

}  // namespace ddprun
