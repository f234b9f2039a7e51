// Fuzzes --hosts and hostfiles. The first byte of the input says which of the two it is.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/hosts/host_list.hpp"
#include "rendezvous/messages/messages.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace ddprun;

/// ssh gets the name as a word of its command line.
bool is_harmless(const std::string& name) {
  return !name.empty() && name.front() != '-' && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view{"-._:%@"}.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

/// The host as one writes it down: an IPv6 address has brackets.
std::string written(const Host& host) {
  const std::string label = host.label();
  const std::string user = host.name.substr(0, host.name.size() - label.size());
  const bool address = label.find(':') != std::string::npos;
  return user + (address ? "[" + label + "]" : label) +
         (host.slots ? ":" + std::to_string(*host.slots) : "");
}

void check(const Result<std::vector<Host>>& hosts) {
  if (!hosts) return require(!hosts.error().message.empty());
  require(!hosts->empty() && hosts->size() <= kHostsMax);
  std::string list;
  for (const Host& host : *hosts) {
    require(is_harmless(host.name));
    require(!host.slots || (*host.slots >= 1 && *host.slots <= kWorkersPerNodeMax));
    list += (list.empty() ? "" : ",") + written(host);
  }
  const auto again = parse_hosts({list, "--hosts", true});
  require(again.has_value() && *again == *hosts);
  const auto in_file = parse_hostfile(list, "file");
  require(in_file.has_value() && *in_file == *hosts);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text{reinterpret_cast<const char*>(data) + 1, size - 1};
  check(data[0] % 2 == 0 ? parse_hosts({text, "--hosts", true}) : parse_hostfile(text, "file"));
  return 0;
}
