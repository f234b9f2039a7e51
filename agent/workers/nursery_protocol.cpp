#include "agent/workers/nursery_protocol.hpp"

#include <asm/unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace ddprun {

namespace {

using nlohmann::json;

/// What the interpreter runs: the program in file 4. The name is the one that tracebacks of the
/// nursery's own errors show.
constexpr char kBoot[] =
    "import os; exec(compile(os.pread(4, 1 << 20, 0), '<ddprun nursery>', 'exec'))";

/// Each byte as the character of that number, in UTF-8.
std::string characters(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xC0 | (byte >> 6));
      text += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return text;
}

json characters(const std::vector<std::string>& words) {
  json array = json::array();
  for (const std::string& word : words) array.push_back(characters(std::string_view{word}));
  return array;
}

}  // namespace

Command plan_nursery(const LaunchSpec& spec, const NodeFacts& node) {
  const CommonEnvironment common = common_environment(spec, node);
  const json config{{"arguments", characters(spec.arguments)},
                    {"modules", spec.warm ? spec.warm->modules : std::vector<std::string>{}},
                    {"left_out", json::array()},
                    {"per_worker", common.per_worker},
                    {"boot", kBoot}};
  Command command{
      spec.program, {spec.program, "-u", "-c", kBoot, config.dump()}, common.environment, {}};
  // Libraries count the CPUs that they may use while they are loaded: the nursery gets the place
  // that all workers share.
  const auto& places = node.placements;
  if (!places.empty() && std::ranges::all_of(places, [&](auto& p) { return p == places.front(); }))
    command.placement = places.front();
  return command;
}

std::string encode_order(const Command& worker, std::size_t index, bool last,
                         const Command& nursery) {
  const std::set<std::string_view> has{nursery.environment.begin(), nursery.environment.end()};
  json environment = json::object();
  for (const std::string& entry : worker.environment) {
    if (has.contains(entry)) continue;
    const std::size_t equals = entry.find('=');
    environment[characters(std::string_view{entry}.substr(0, equals))] =
        characters(std::string_view{entry}.substr(equals + 1));
  }
  return json{{"worker", index},
              {"last", last},
              {"arguments", characters(worker.arguments)},
              {"environment", environment},
              {"cpus", worker.placement.cpus},
              {"memory_nodes", worker.placement.memory_nodes},
              {"set_mempolicy", __NR_set_mempolicy}}
      .dump();
}

Result<NurseryEvent> decode_nursery_event(std::string_view packet) try {
  const auto message = json::parse(packet);
  const auto event = message.at("event").get<std::string>();
  if (event == "left out") return NurseryEvent{LeftOut{message.at("module"), message.at("why")}};
  if (event == "refused") return NurseryEvent{NurseryRefuses{message.at("why")}};
  if (event == "ready")
    return NurseryEvent{NurseryReady{message.at("modules"), message.at("seconds")}};
  if (event == "forked") return NurseryEvent{Forked{message.at("worker"), message.at("pid")}};
  if (event == "let go") return NurseryEvent{LetGo{}};
  return Error{Error::Kind::kInvalid, "unknown event '" + event + "'"};
} catch (const json::exception& e) {
  return Error{Error::Kind::kInvalid, std::string{"malformed event: "} + e.what()};
}

}  // namespace ddprun
