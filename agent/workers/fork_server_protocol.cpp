#include "agent/workers/fork_server_protocol.hpp"

#include <asm/unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/json/json_fields.hpp"

namespace ddprun {

namespace {

/// What the interpreter runs: the program in file 4. The name is the one that tracebacks of the
/// fork server's own errors show.
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

std::vector<std::string> characters(const std::vector<std::string>& words) {
  std::vector<std::string> texts;
  texts.reserve(words.size());
  for (const std::string& word : words) texts.push_back(characters(std::string_view{word}));
  return texts;
}

struct ForkServerConfig {
  std::vector<std::string> arguments;
  std::vector<std::string> modules;
  std::vector<std::string> left_out;
  std::vector<std::string> per_worker;
  std::string boot;
};

struct WorkerOrder {
  std::size_t start = 0;
  std::size_t worker = 0;
  bool last = false;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
  std::vector<int> cpus;
  std::vector<int> memory_nodes;
  int set_mempolicy = __NR_set_mempolicy;
};

}  // namespace

// clang-format off
namespace fields {
template <> inline constexpr auto kFields<ForkServerConfig> = table(
    uncut<&ForkServerConfig::arguments>("arguments"), uncut<&ForkServerConfig::modules>("modules"),
    uncut<&ForkServerConfig::left_out>("left_out"), uncut<&ForkServerConfig::per_worker>("per_worker"),
    uncut<&ForkServerConfig::boot>("boot"));
template <> inline constexpr auto kFields<WorkerOrder> = table(
    field<&WorkerOrder::start>("start"), field<&WorkerOrder::worker>("worker"),
    field<&WorkerOrder::last>("last"),
    uncut<&WorkerOrder::arguments>("arguments"), uncut<&WorkerOrder::environment>("environment"),
    uncut<&WorkerOrder::cpus>("cpus"), uncut<&WorkerOrder::memory_nodes>("memory_nodes"),
    field<&WorkerOrder::set_mempolicy>("set_mempolicy"));
template <> inline constexpr auto kFields<LeftOut> = table(
    uncut<&LeftOut::module>("module"), uncut<&LeftOut::why>("why"));
template <> inline constexpr auto kFields<ForkServerRefuses> = table(
    uncut<&ForkServerRefuses::why>("why"));
template <> inline constexpr auto kFields<ForkServerReady> = table(
    uncut<&ForkServerReady::modules>("modules"), field<&ForkServerReady::seconds>("seconds"));
template <> inline constexpr auto kFields<Forked> = table(
    field<&Forked::start>("start"), field<&Forked::worker>("worker"), field<&Forked::pid>("pid"));
template <> inline constexpr auto kFields<Delivered> = table(field<&Delivered::start>("start"));
}  // namespace fields
// clang-format on

Command plan_fork_server(const LaunchSpec& spec, const NodeFacts& node) {
  const CommonEnvironment common = common_environment(spec, node);
  const ForkServerConfig config{
      .arguments = characters(spec.arguments),
      .modules = spec.warm ? spec.warm->modules : std::vector<std::string>{},
      .per_worker = common.per_worker,
      .boot = kBoot};
  Command command{spec.program,
                  {spec.program, "-u", "-c", kBoot, fields::to_text(config)},
                  common.environment,
                  {}};
  // Libraries count the CPUs that they may use while they are loaded: the fork server gets the
  // place that all workers share.
  const auto& places = node.machine.placements;
  if (!places.empty() && std::ranges::all_of(places, [&](auto& p) { return p == places.front(); }))
    command.placement = places.front();
  return command;
}

std::string encode_order(const Command& worker, const OrderPlace& place,
                         const Command& fork_server) {
  const std::set<std::string_view> has{fork_server.environment.begin(),
                                       fork_server.environment.end()};
  std::map<std::string, std::string> environment;
  for (const std::string& entry : worker.environment) {
    if (has.contains(entry)) continue;
    const std::size_t equals = entry.find('=');
    environment[characters(std::string_view{entry}.substr(0, equals))] =
        characters(std::string_view{entry}.substr(equals + 1));
  }
  return fields::to_text(WorkerOrder{.start = place.start,
                                     .worker = place.worker,
                                     .last = place.last,
                                     .arguments = characters(worker.arguments),
                                     .environment = std::move(environment),
                                     .cpus = worker.placement.cpus,
                                     .memory_nodes = worker.placement.memory_nodes});
}

Result<ForkServerEvent> decode_fork_server_event(std::string_view packet) try {
  const auto message = parse_json(packet);
  if (!message) return invalid("malformed event: " + message.error().message);
  const auto& in = **message;
  const std::string event = fields::text_from(fields::member_in(in, "event", "message"), "event");
  if (event == "left out") return ForkServerEvent{fields::from_object<LeftOut>(in, event)};
  if (event == "refused") return ForkServerEvent{fields::from_object<ForkServerRefuses>(in, event)};
  if (event == "ready") return ForkServerEvent{fields::from_object<ForkServerReady>(in, event)};
  if (event == "forked") return ForkServerEvent{fields::from_object<Forked>(in, event)};
  if (event == "delivered") return ForkServerEvent{fields::from_object<Delivered>(in, event)};
  return invalid("unknown event '" + event + "'");
} catch (const fields::Unfit& unfit) {
  return invalid(std::string{"malformed event: "} + unfit.what());
}

bool ForkServerTurns::take() { return !std::exchange(taken_, true); }

std::size_t ForkServerTurns::begin(std::size_t workers) {
  forked_.assign(workers, -1);
  delivered_ = workers == 0;
  return ++start_;
}

void ForkServerTurns::hear(const Forked& answer) {
  if (answer.start == start_ && answer.worker < forked_.size()) forked_[answer.worker] = answer.pid;
}

void ForkServerTurns::hear(const Delivered& answer) {
  delivered_ = delivered_ || answer.start == start_;
}

ForkedFate ForkServerTurns::fate(bool unwanted) const {
  if (unwanted) return ForkedFate::kKilled;
  return delivered_ ? ForkedFate::kTaken : ForkedFate::kStartedAnew;
}

}  // namespace ddprun
