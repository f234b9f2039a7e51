#include "launcher/doctor/doctor_messages.hpp"

#include <nlohmann/json.hpp>

#include "base/match.hpp"
#include "launcher/doctor/bench/measurements_json.hpp"
#include "launcher/doctor/reading_json.hpp"
#include "launcher/hosts/host_list.hpp"
#include "rendezvous/messages/json_fields.hpp"

namespace ddprun::fields {

constexpr TextLimit kText{4096};
constexpr std::size_t kVariablesMax = 100;

// clang-format off
template <> inline constexpr auto kFields<Examine> = std::tuple{
    text("node", &Examine::node, kText), text("log_dir", &Examine::log_dir, kText),
    text("checkpoint_dir", &Examine::checkpoint_dir, kText), text("script", &Examine::script, kText),
    text("directory", &Examine::directory, kText), text("token", &Examine::token, kText),
    texts("environment", &Examine::environment, kText, kVariablesMax)};
template <> inline constexpr auto kFields<Peer> = std::tuple{
    text("node", &Peer::node, kText), text("host", &Peer::host, kText), field("port", &Peer::port),
    text("use", &Peer::use, kText), text("name", &Peer::name, kText)};
template <> inline constexpr auto kFields<VisitPeers> = std::tuple{
    list("peers", &VisitPeers::peers, 4 * kHostsMax)};  // each by up to four addresses
// clang-format on

}  // namespace ddprun::fields

namespace ddprun {

namespace {

using nlohmann::json;

constexpr int kDoctorProtocol = 1;

std::string line_of_message(json message) {
  message["doctor"] = kDoctorProtocol;
  return message.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Error no_message(const std::string& why) {
  return invalid("this is no message of ddprun doctor, is it another version? " + why);
}

json parse_message(std::string_view line) {
  json message = json::parse(line);
  if (message.at("doctor") != kDoctorProtocol)
    throw json::other_error::create(501, "another version", &message);
  return message;
}

ToNode bench_of(const json& message) {
  const auto what = fields::text_from(message["bench"], "bench");
  if (what == "prepare") return PrepareBench{};
  if (what == "node") return MeasureNode{};
  return MeasureLink{fields::from_object<Peer>(message.at("peer"), "peer")};
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
  const json message = parse_message(line);
  if (message.contains("examine"))
    return ToNode{fields::from_object<Examine>(message["examine"], "examine")};
  if (message.contains("clock")) return ToNode{AskClock{}};
  if (message.contains("bench")) return bench_of(message);
  return ToNode{fields::from_object<VisitPeers>(message, "message")};
} catch (const json::exception& e) {
  return no_message(e.what());
} catch (const fields::Unfit& e) {
  return no_message(e.what());
}

Result<FromNode> decode_from_node(std::string_view line) try {
  const json message = parse_message(line);
  if (message.contains("unix_us"))
    return FromNode{ClockTold{fields::integer_from<std::int64_t>(message["unix_us"], "unix_us")}};
  if (message.contains("machine"))
    return FromNode{BenchReady{fields::text_from(message["machine"], "machine"),
                               fields::integer_from<std::uint16_t>(message.at("port"), "port")}};
  if (message.contains("speeds")) return FromNode{NodeMeasured{node_speeds_of(message["speeds"])}};
  if (message.contains("link")) return FromNode{LinkMeasured{link_speed_of(message["link"])}};
  const bool examined = message.contains("reading");
  auto reading = parse_reading(message.at(examined ? "reading" : "visited").dump());
  if (!reading) return reading.error();
  if (!examined) return FromNode{PeersVisited{std::move(reading->peers)}};
  return FromNode{Examined{std::move(*reading), fields::text_from(message.at("host"), "host"),
                           fields::integer_from<std::uint16_t>(message.at("port"), "port")}};
} catch (const json::exception& e) {
  return no_message(e.what());
} catch (const fields::Unfit& e) {
  return no_message(e.what());
}

bool is_doctors_line(std::string_view line) {
  return line.starts_with("{") && line.find("\"doctor\":") != std::string_view::npos;
}

}  // namespace ddprun
