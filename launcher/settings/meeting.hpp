// decide_meeting() decides how this node meets the others of its job. Pure.
//
// All that bears on it comes together here: the options of torchrun's backends static and c10d,
// --standalone, what a scheduler tells of the nodes that it has started, and what `ddprun --hosts`
// tells an agent that it has started on a host. One thing may stay open, because only the network
// tells it: whether the endpoint is an address of this machine (Hosting::kAtEndpoint).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/spec/launch_spec.hpp"
#include "base/result.hpp"
#include "launcher/settings/arguments.hpp"
#include "launcher/settings/rdzv_conf.hpp"
#include "launcher/settings/values.hpp"

namespace ddprun {

inline constexpr int kC10dPort = 29'400;  // the default of torchrun's c10d rendezvous
inline constexpr int kEtcdPort = 2'379;   // and of its etcd rendezvous

/// This ddprun as one of those that a scheduler has started together, one on each node.
struct ClusterPlace {
  std::string by;  // their starter in messages: "Slurm job 12", "Open MPI"
  bool slurm = false;
  int nodes = 1;  // 0: the environment does not tell
  int node_rank = 0;
  std::string first_host;     // "": the environment does not tell
  std::string why_unknown;    // why it does not tell where something tells in other cases
  std::string problem;        // why its nodes cannot meet as the starter tells; "": they can
  bool may_be_alone = false;  // true: without --nnodes each has a job of its own
  bool first_host_is_rank_0 = true;
  std::uint16_t port = 0;  // the coordinator's; differs between jobs
  std::string run_id;
};

/// This ddprun as one of those that `ddprun --hosts` has started, one on each host.
struct HostPlace {
  std::string run_id;
  int nodes_min = 1;
  int nodes_max = 1;
  int node_rank = 0;
  bool leads = false;       // it hosts the coordinator
  Endpoint coordinator;     // host "": the coordinator uses `own_address`
  std::string own_address;  // the address of this host that the others reach
  std::optional<Secret> secret;
};

/// The place that a scheduler, or ddprun --hosts, has given this ddprun; none: a user started it.
struct MeetingPlace {
  std::optional<ClusterPlace> cluster;
  std::optional<HostPlace> host;
};

/// How many nodes meet, and how; and a sentence for each option that has no effect on that.
struct DecidedMeeting {
  NodeRange nodes;
  Meeting meeting;
  std::vector<std::string> warnings;
};

/// Returns how many nodes the job has. Errors: kInvalid, for an --nnodes that makes no sense or
/// asks for more nodes than the scheduler has started.
Result<NodeRange> decide_nodes(const Settings& settings, const MeetingPlace& place);

/// Returns the setting of --node-rank, or in its place the rank that the scheduler tells where the
/// nodes meet by the static backend.
Setting node_rank_setting(const Settings& settings, const MeetingPlace& place);

/// Decides the meeting. Options win over what a scheduler tells, and a host's place over both.
/// Errors: kInvalid, with a sentence that names the option, the value and what is accepted.
Result<DecidedMeeting> decide_meeting(const Settings& settings, const RendezvousConf& conf,
                                      const MeetingPlace& place);

}  // namespace ddprun
