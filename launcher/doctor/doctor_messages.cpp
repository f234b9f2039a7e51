#include "launcher/doctor/doctor_messages.hpp"

#include <nlohmann/json.hpp>

#include "base/match.hpp"
#include "launcher/doctor/reading_json.hpp"

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

Examine examine_of(const json& from) {
  return {.node = from.at("node"),
          .log_dir = from.at("log_dir"),
          .checkpoint_dir = from.at("checkpoint_dir"),
          .script = from.at("script"),
          .directory = from.at("directory"),
          .environment = from.at("environment"),
          .token = from.at("token")};
}

VisitPeers peers_of(const json& from) {
  VisitPeers visit;
  for (const json& peer : from)
    visit.peers.push_back({.node = peer.at("node"),
                           .host = peer.at("host"),
                           .port = peer.at("port"),
                           .use = peer.at("use"),
                           .name = peer.at("name")});
  return visit;
}

}  // namespace

std::string encode(const ToNode& message) {
  return match(
      message,
      [](const Examine& m) {
        return line_of_message({{"examine",
                                 {{"node", m.node},
                                  {"log_dir", m.log_dir},
                                  {"checkpoint_dir", m.checkpoint_dir},
                                  {"script", m.script},
                                  {"directory", m.directory},
                                  {"environment", m.environment},
                                  {"token", m.token}}}});
      },
      [](const AskClock&) {
        return line_of_message({{"clock", true}});
      },
      [](const VisitPeers& m) {
        json peers = json::array();
        for (const Peer& peer : m.peers)
          peers.push_back({{"node", peer.node},
                           {"host", peer.host},
                           {"port", peer.port},
                           {"use", peer.use},
                           {"name", peer.name}});
        return line_of_message({{"peers", std::move(peers)}});
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
      });
}

Result<ToNode> decode_to_node(std::string_view line) try {
  const json message = parse_message(line);
  if (message.contains("examine")) return ToNode{examine_of(message["examine"])};
  if (message.contains("clock")) return ToNode{AskClock{}};
  return ToNode{peers_of(message.at("peers"))};
} catch (const json::exception& e) {
  return no_message(e.what());
}

Result<FromNode> decode_from_node(std::string_view line) try {
  const json message = parse_message(line);
  if (message.contains("unix_us")) return FromNode{ClockTold{message["unix_us"]}};
  const bool examined = message.contains("reading");
  auto reading = parse_reading(message.at(examined ? "reading" : "visited").dump());
  if (!reading) return reading.error();
  if (!examined) return FromNode{PeersVisited{std::move(reading->peers)}};
  return FromNode{Examined{std::move(*reading), message.at("host"), message.at("port")}};
} catch (const json::exception& e) {
  return no_message(e.what());
}

bool is_doctors_line(std::string_view line) {
  return line.starts_with("{") && line.find("\"doctor\":") != std::string_view::npos;
}

}  // namespace ddprun
