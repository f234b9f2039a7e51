#include "launcher/environments/variables.hpp"

#include <fmt/format.h>

#include "base/numbers.hpp"

namespace ddprun {

namespace {

// These ports are below those that Linux gives to connections (32,768 and up), and above those of
// services.
constexpr std::uint64_t kFirstPort = 16'384;
constexpr std::uint64_t kPorts = 16'384;

}  // namespace

std::string text(const EnvironmentLookup& environment, const char* name) {
  return environment(name).value_or("");
}

std::optional<std::int64_t> number(const EnvironmentLookup& environment, const char* name) {
  const auto value = parse_number<std::int64_t>(text(environment, name));
  return value && *value >= 0 ? value : std::nullopt;
}

std::uint64_t hash(const std::string& words) {
  std::uint64_t value = 14'695'981'039'346'656'037U;
  for (const char c : words) value = (value ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  return value;
}

std::uint16_t port_of(std::uint64_t job) {
  return static_cast<std::uint16_t>(kFirstPort + job % kPorts);
}

Error too_many_here(const std::string& by, std::int64_t count, const std::string& advice) {
  return {Error::Kind::kInvalid,
          fmt::format("{} has started {} ddprun on this node, where one starts all workers: {}, "
                      "and --nproc-per-node says how many workers a node has",
                      by, count, advice)};
}

}  // namespace ddprun
