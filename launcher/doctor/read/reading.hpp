// What was read on a node, as plain data. Checks look at nothing else, so a reading of a sick
// machine, kept as JSON, is a test. What is missing there could not be read, and is no mistake.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine/gpu_driver.hpp"
#include "base/result.hpp"

namespace ddprun {

/// A limit that is none.
inline constexpr std::int64_t kUnlimited = -1;

/// What the kernel grants to a process.
struct LimitsReading {
  std::optional<std::int64_t> open_files;       // RLIMIT_NOFILE, the soft limit
  std::optional<std::int64_t> open_files_hard;  // its ceiling for this user
  std::optional<std::int64_t> processes;        // RLIMIT_NPROC
  std::optional<std::int64_t> locked_bytes;     // RLIMIT_MEMLOCK
  std::optional<std::int64_t> cgroup_tasks_max;
  std::optional<std::int64_t> cgroup_tasks;  // as many there are now
  bool locks_all_memory = false;             // CAP_IPC_LOCK: locked_bytes does not count
  bool may_exceed_processes = false;         // root, CAP_SYS_RESOURCE: `processes` does not count
};

struct MemoryReading {
  std::optional<std::int64_t> total_bytes;
  std::optional<std::int64_t> available_bytes;
  std::optional<std::int64_t> cgroup_max_bytes;
  std::optional<std::int64_t> cgroup_used_bytes;  // without caches that the kernel can drop
  std::optional<std::int64_t> shm_bytes;          // the size of /dev/shm
  std::optional<std::int64_t> shm_free_bytes;
  std::string transparent_huge_pages;  // "always", "madvise", "never"
};

/// A process that was there before, and works on the CPUs that a job would have.
struct BusyProcess {
  std::int64_t pid = 0;
  std::string name;
  double cpus = 0;  // CPUs that it has used while it was looked at
};

struct CpusReading {
  std::optional<int> online;
  std::optional<int> usable;    // in the affinity mask
  std::optional<double> quota;  // CPUs that the cgroup grants
  std::optional<int> numa_nodes;
  std::vector<BusyProcess> busy;  // the busiest first
};

/// A folder that a job writes to.
struct FolderReading {
  std::string role;  // "temporary files", "logs", "checkpoints"
  std::string path;
  std::string error;  // why nothing can be written there; "": a small file was written
  std::optional<int> error_number;  // the system's reason, errno(3)
  std::string tried;  // the folder around it, where the path is not there yet; "": the path itself
  std::string file_system;  // its type: "ext4", "nfs"
  std::optional<std::int64_t> total_bytes;
  std::optional<std::int64_t> free_bytes;  // for this user
  std::optional<std::int64_t> free_files;  // inodes; nullopt: the file system has no limit
  std::optional<double> write_ms;          // how long a small write with fsync takes
};

/// What a job with --checkpoints finds on disk.
struct CheckpointsReading {
  std::string newest;           // the checkpoint that is there; "": none
  std::int64_t last_bytes = 0;  // in that one, and not in the one before
  std::int64_t save_bytes = 0;  // for the next one, with a reserve
};

/// A question to the resolver of the system (getaddrinfo(3), getnameinfo(3)).
struct LookupReading {
  std::string question;  // a name, or an address
  std::vector<std::string> answers;
  std::string error;         // the resolver's words; "" if it has answered
  std::optional<double> ms;  // how long it took; nullopt: it has not answered in time
};

struct NameServerReading {
  std::string address;
  std::optional<double> answer_ms;  // nullopt: it has not answered in time
};

struct NamesReading {
  std::optional<LookupReading> own_name;
  std::optional<LookupReading> own_address;
  std::vector<NameServerReading> servers;  // each nameserver line of /etc/resolv.conf
};

/// The Python that runs scripts, and what it would import.
struct PythonReading {
  std::string path;
  std::string doubt;  // which of two active environments it is of; "": there is no doubt
  std::string error;  // why there is none, or why it does not run
  std::string version;
  std::string torch;  // its version: "2.11.0+cu128"; "": it is not installed
  std::string cuda;   // the CUDA that torch was built with: "12.8"; "": it was built without
  std::string nccl;   // the version of its package; "": torch has it inside, or there is none
};

/// The script that the job is to run.
struct ScriptReading {
  std::string path;
  std::string error;    // why it cannot be read
  std::string foreign;  // the kind of a file that Python cannot run, as foreign_kind() has it
  std::string sha256;
  std::vector<std::string> missing_modules;  // those that it imports first of all, and that this
                                             // node lacks
};

struct InterfaceReading {
  std::string name;
  std::vector<std::string> addresses;
  std::optional<int> mtu;
  bool up = false;
  bool loopback = false;
};

/// A port of an InfiniBand or RoCE card, in the kernel's words.
struct InfinibandReading {
  std::string device;
  int port = 1;
  std::string state;       // "ACTIVE", "INIT", "DOWN"
  std::string link_layer;  // "InfiniBand", "Ethernet"
  std::string rate;        // "400 Gb/sec (4X NDR)"
};

/// How another node of the job was reached from this one.
struct LinkReading {
  std::string node;              // its name
  std::string use;               // whose choice its address is: "Gloo", "NCCL", "IPv6"; "": of ssh
  std::string address;           // its address and port
  std::string error;             // why it could not be reached
  std::optional<double> ms;      // how long it took to connect and to exchange a few bytes
  std::optional<double> rtt_ms;  // the shortest of a few exchanges
  bool small_only = false;       // a few bytes come through, and many do not
  std::string interface;         // this node's interface that leads there
  std::optional<int> mtu;        // the MTU of that interface
};

/// What this node's resolver says of another node's name.
struct PeerNameReading {
  std::string node;
  LookupReading lookup;
};

/// What a node sees of the others.
struct PeersReading {
  std::vector<LinkReading> links;
  std::vector<PeerNameReading> peer_names;
  // Nodes whose files it sees in the folders of checkpoints and of logs; nullopt: not tried.
  std::optional<std::vector<std::string>> shares_with;
  std::optional<std::vector<std::string>> shares_logs_with;
};

struct NodeReading {
  std::string node;
  std::string ddprun;  // its version
  std::string kernel;
  LimitsReading limits;
  MemoryReading memory;
  CpusReading cpus;
  std::vector<FolderReading> folders;
  std::optional<CheckpointsReading> checkpoints;  // nullopt: not with --checkpoints, or not known
  NamesReading names;
  std::optional<PythonReading> python;
  std::optional<ScriptReading> script;
  std::optional<GpusReading> gpus;  // nullopt: the bus has none
  std::vector<InterfaceReading> interfaces;
  std::vector<InfinibandReading> infiniband;
  std::string nccl_interfaces;  // the variable NCCL_SOCKET_IFNAME
  std::string gloo_interfaces;  // the variable GLOO_SOCKET_IFNAME

  // What only several nodes together have.
  std::optional<double> clock_offset_ms;  // how far its clock is ahead of the launcher's
  std::optional<double> clock_doubt_ms;   // how wrong that may be
  PeersReading peers;
};

// A reading as JSON, in both directions. What is missing in it is left out there, and a part of a
// reading is one, too: processes of this node gather such parts. reading_fields.hpp has the names.

nlohmann::json to_json(const NodeReading& reading);

/// Returns the reading in one line, without a newline. Bytes that are no UTF-8 become U+FFFD.
std::string to_line(const NodeReading& reading);

/// Reads what to_line() has written. Fields that are not known are skipped. Errors: kInvalid.
Result<NodeReading> parse_reading(std::string_view text);

}  // namespace ddprun
