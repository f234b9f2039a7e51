#include "worker_sdk/group/init_method.hpp"

#include <charconv>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace ddprun::sdk {

namespace {

constexpr int kNoLimit = std::numeric_limits<int>::max();

[[noreturn]] void refuse(const std::string& text, const std::string& reason) {
  throw std::invalid_argument{"init_method '" + text + "': " + reason +
                              "; expected env://, tcp://HOST:PORT or file:///PATH, each with "
                              "?rank=R&world_size=N at its end if you like"};
}

int number(const std::string& text, const std::string& what, std::string_view digits, int least,
           int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || value < least || value > most)
    refuse(text, what + " '" + std::string{digits} + "' is no number from " +
                     std::to_string(least) +
                     (most == kNoLimit ? " up" : " to " + std::to_string(most)));
  return value;
}

void read_query(const std::string& text, std::string_view query, InitMethod& method) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    const std::string name{pair.substr(0, equals)};
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
    if (name == "rank")
      method.rank = number(text, name, value, 0, kNoLimit);
    else if (name == "world_size")
      method.world_size = number(text, name, value, 1, kNoLimit);
    else
      refuse(text, "unknown part '" + name + "'");
  }
}

void read_address(const std::string& text, std::string_view address, InitMethod& method) {
  while (address.ends_with('/')) address.remove_suffix(1);
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) refuse(text, "host or port is missing");
  method.port = number(text, "port", address.substr(colon + 1), 0, 65'535);
  std::string_view host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  method.host = host;
}

}  // namespace

InitMethod parse_init_method(const std::string& text) {
  InitMethod method;
  std::string_view rest = text;
  if (const std::size_t question = rest.find('?'); question != std::string_view::npos) {
    read_query(text, rest.substr(question + 1), method);
    rest = rest.substr(0, question);
  }
  if (rest.empty() || rest == "env://") return method;
  constexpr std::string_view kTcp = "tcp://";
  constexpr std::string_view kFile = "file://";
  if (rest.starts_with(kTcp)) {
    method.kind = InitMethod::Kind::kTcp;
    read_address(text, rest.substr(kTcp.size()), method);
  } else if (rest.starts_with(kFile)) {
    method.kind = InitMethod::Kind::kFile;
    method.path = rest.substr(kFile.size());
    if (method.path.empty()) refuse(text, "the path is missing");
  } else {
    refuse(text, "no such way to meet");
  }
  return method;
}

WorkerEnv place_of_worker(const InitMethod& method, const EnvironmentLookup& lookup) {
  using Kind = InitMethod::Kind;
  WorkerEnv worker = WorkerEnv::from([&](const std::string& name) -> std::optional<std::string> {
    if (name == env::kRank && method.rank) return std::to_string(*method.rank);
    if (name == env::kWorldSize && method.world_size) return std::to_string(*method.world_size);
    if (name == env::kMasterAddr && method.kind == Kind::kTcp) return method.host;
    if (name == env::kMasterPort && method.kind == Kind::kTcp) return std::to_string(method.port);
    // Workers that meet in a file need no address.
    if (name == env::kMasterAddr && method.kind == Kind::kFile) return "localhost";
    if (name == env::kMasterPort && method.kind == Kind::kFile) return "0";
    return lookup(name);
  });
  // The launcher's store is at MASTER_ADDR:MASTER_PORT; workers that meet elsewhere have their own.
  const bool at_launcher = method.kind == Kind::kEnv ||
                           (method.kind == Kind::kTcp && lookup(env::kMasterAddr) == method.host &&
                            lookup(env::kMasterPort) == std::to_string(method.port));
  worker.use_agent_store = worker.use_agent_store && at_launcher;
  return worker;
}

}  // namespace ddprun::sdk
