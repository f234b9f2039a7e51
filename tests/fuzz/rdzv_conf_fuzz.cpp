// Fuzzes --rdzv-conf: any text is accepted or refused with a sentence that names the option, and
// quotes around it change nothing.
#include <string>

#include "launcher/settings/rdzv_conf.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace ddprun;

Result<RendezvousConf> parsed(const std::string& text) {
  return parse_rdzv_conf({text, "--rdzv-conf", true});
}

bool equal(const RendezvousConf& a, const RendezvousConf& b) {
  return a.join == b.join && a.last_call == b.last_call && a.heartbeat == b.heartbeat &&
         a.is_host == b.is_host && a.unused == b.unused;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  const auto conf = parsed(text);
  if (!conf) {
    require(conf.error().message.starts_with("--rdzv-conf '"));
    return 0;
  }
  for (const auto& time : {conf->join, conf->last_call, conf->heartbeat})
    require(!time || time->count() >= 0);
  if (text.find_first_of("'\"") != std::string::npos) return 0;
  for (const char* quote : {"'", "\""}) {
    const auto quoted = parsed(quote + text + quote);
    require(quoted.has_value() && equal(*quoted, *conf));
  }
  return 0;
}
