// Reads --rdzv-conf, "KEY=VALUE,KEY=VALUE...", which may be in quotes. Blanks around keys and
// values mean nothing, as in torchrun. The keys are those of all of torchrun's backends
// (torch/distributed/elastic/rendezvous/dynamic_rendezvous.py, c10d_rendezvous_backend.py,
// static_tcp_rendezvous.py and etcd_rendezvous.py).
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "launcher/settings/arguments.hpp"

namespace ddprun {

/// What --rdzv-conf says; nullopt where it says nothing.
struct RendezvousConf {
  std::optional<std::chrono::milliseconds> join;       // join_timeout; of static: timeout
  std::optional<std::chrono::milliseconds> last_call;  // last_call_timeout
  /// keep_alive_interval x keep_alive_max_attempt, which torchrun counts; else heartbeat_timeout
  std::optional<std::chrono::milliseconds> heartbeat;
  std::optional<bool> is_host;  // says whether this node runs the coordinator
  /// Options of etcd's backends, by either one's names: protocol; cacert or ca_cert; cert or
  /// ssl_cert; key or ssl_cert_key; prefix or etcd_prefix.
  bool tls = false;
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  std::string prefix;
  std::string for_etcd;  // "protocol, cacert": those of these keys that are given
  std::string unused;    // "rank, use_libuv": torchrun's keys that have no effect here
  std::string unknown;   // "rdzv_endpoint": unknown keys, which torchrun takes without a word
};

/// Checks the values of all keys and returns those that mean something here. Errors: kInvalid, with
/// the key, its value and what is expected, also for a key that is like another one.
Result<RendezvousConf> parse_rdzv_conf(const Setting& setting);

}  // namespace ddprun
