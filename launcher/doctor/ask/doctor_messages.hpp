// What `ddprun doctor --hosts` and the nodes say to each other over ssh, in lines of JSON. Pure.
//
//     node< {"doctor":1,"examine":{"script":"train.py","directory":"/home/ada",...}}
//     node> {"doctor":1,"reading":{...},"host":"10.0.0.2","port":40123}
//     node< {"doctor":1,"clock":true}
//     node> {"doctor":1,"unix_us":1760000000000000}
//     node< {"doctor":1,"peers":[{"node":"h1","host":"10.0.0.1","port":41277},...]}
//     node> {"doctor":1,"visited":{"links":[...],"shares_with":["h1"],"peer_names":[...]}}
//
// With --bench, these follow:
//
//     node< {"doctor":1,"bench":"prepare"}
//     node> {"doctor":1,"machine":"5f0c...","port":40124}
//     node< {"doctor":1,"bench":"node"}
//     node> {"doctor":1,"speeds":{"node":"h1","cpus":[...],"memory":[...]}}
//     node< {"doctor":1,"bench":"link","peer":{"node":"h2","host":"10.0.0.2","port":40125}}
//     node> {"doctor":1,"link":{"from":"h1","to":"h2","rtt_us":85,...}}
//
// When the launcher's side ends, the node removes what it has made, and ends.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "launcher/doctor/bench/measurements.hpp"
#include "launcher/doctor/read/reading.hpp"

namespace ddprun {

// --- to a node ---

struct Examine {
  std::string node;  // its name in the report
  std::string log_dir;
  std::string checkpoint_dir;
  bool keeps_checkpoints = false;  // there, with --checkpoints
  std::string script;
  std::string directory;                           // where to look; "": where the login leads
  std::map<std::string, std::string> environment;  // is added to what the login has set
  std::string token;                               // a fresh one, which peers show to each other
};
struct AskClock {};
struct Peer {
  std::string node;
  std::string host;
  std::uint16_t port = 0;
  std::string use = {};   // as in LinkReading
  std::string name = {};  // the peer's own name, which is looked up; "": it is not
};
struct VisitPeers {
  std::vector<Peer> peers;
};
struct PrepareBench {};  // let others connect to measure links
struct MeasureNode {};
struct MeasureLink {
  Peer peer;
};
using ToNode = std::variant<Examine, AskClock, VisitPeers, PrepareBench, MeasureNode, MeasureLink>;

// --- from a node ---

struct Examined {
  NodeReading reading;
  std::string host;  // an address at which others may reach it
  std::uint16_t port = 0;
};
struct ClockTold {
  std::int64_t unix_us = 0;
};
struct PeersVisited {
  PeersReading peers;
};
struct BenchReady {
  std::string machine;  // equal on all nodes that share a machine; "": not known
  std::uint16_t port = 0;
};
struct NodeMeasured {
  NodeSpeeds speeds;
};
struct LinkMeasured {
  LinkSpeed speed;
};
using FromNode =
    std::variant<Examined, ClockTold, PeersVisited, BenchReady, NodeMeasured, LinkMeasured>;

/// Returns the message as a line with its newline.
std::string encode(const ToNode& message);
std::string encode(const FromNode& message);

/// Reads a line. Errors: kInvalid.
Result<ToNode> decode_to_node(std::string_view line);
Result<FromNode> decode_from_node(std::string_view line);

/// Whether a line is one of ours, and not a greeting of a login.
bool is_doctors_line(std::string_view line);

/// Returns the address that ssh has reached, and those that Gloo, NCCL and IPv6 would use where
/// they are others.
std::vector<Peer> ways_to(const Examined& node);

}  // namespace ddprun
