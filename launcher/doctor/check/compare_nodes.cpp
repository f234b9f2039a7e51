#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "base/number_text.hpp"
#include "launcher/doctor/check/checks.hpp"
#include "launcher/doctor/check/finding.hpp"

namespace ddprun {

namespace {

using Nodes = std::vector<NodeReading>;

constexpr double kClockOffsetMs = 1000;

/// What is compared, and what a difference means.
struct Comparison {
  const char* subject;
  const char* noun;  // "torch"
  Severity severity;
  const char* why;
  const char* advice;
  std::string (*value)(const NodeReading&);  // "": the node has none, and is left out
};

/// "3.11" of "3.11.2": patches of Python fit each other.
std::string without_patch(const std::string& version) {
  return version.substr(0, version.find('.', version.find('.') + 1));
}

std::string gpus_in_short(const NodeReading& node) {
  if (!node.gpus || node.gpus->gpus.empty()) return "no GPU";
  return fmt::format("{} x {}", node.gpus->gpus.size(), node.gpus->gpus.front().model);
}

/// The time of two CPUs, which a cgroup grants, is as good as two CPUs.
std::string cpus_in_short(const CpusReading& cpus) {
  if (!cpus.usable) return "";
  return fmt::format("{:.3g}", std::min<double>(*cpus.usable, cpus.quota.value_or(*cpus.usable)));
}

const Comparison kComparisons[] = {
    {"same-ddprun", "ddprun", Severity::kWarning, "a job may need what the older one does not have",
     "install the same version on all nodes", [](const NodeReading& node) { return node.ddprun; }},
    {"same-python", "Python", Severity::kWarning,
     "objects that ranks send to each other, and packages, may not fit",
     "use the same environment on all nodes: one that they share, or one container image",
     [](const NodeReading& node) {
       return node.python ? without_patch(node.python->version) : std::string{};
     }},
    {"same-torch", "torch", Severity::kFailed,
     "collectives of different versions do not fit each other: the job hangs or computes wrongly",
     "use the same environment on all nodes: one that they share, or one container image",
     [](const NodeReading& node) { return node.python ? node.python->torch : std::string{}; }},
    {"same-nccl", "NCCL", Severity::kFailed,
     "different versions of NCCL refuse each other, or hang",
     "install the same nvidia-nccl package on all nodes",
     [](const NodeReading& node) { return node.python ? node.python->nccl : std::string{}; }},
    {"same-script", "a script with SHA-256", Severity::kFailed,
     "ranks run different programs: they hang in the first collective that differs",
     "copy the script to all nodes, or use a folder that they share",
     [](const NodeReading& node) {
       return node.script ? node.script->sha256.substr(0, 12) : std::string{};
     }},
    {"same-gpus", "GPUs:", Severity::kWarning,
     "the job is as fast as its slowest GPU, and --nproc-per-node may not fit all nodes",
     "leave the node out, or give the number of its workers: --hosts h1:8,h2:4", gpus_in_short},
    {"same-cpus", "CPUs:", Severity::kWarning,
     "the job is as fast as its slowest node, and all other ranks wait for it",
     "ask for the same on all nodes: --cpus-per-task of Slurm, resources.limits.cpu of Kubernetes; "
     "look for a quota of the cgroup (cpu.max) and for CPUs that are offline",
     [](const NodeReading& node) { return cpus_in_short(node.cpus); }},
    {"same-driver", "driver", Severity::kWarning, "drivers differ in their errors and their speed",
     "install the same driver on all nodes",
     [](const NodeReading& node) { return node.gpus ? node.gpus->driver : std::string{}; }},
    {"same-mtu", "an MTU of", Severity::kWarning,
     "large packets of one node may be lost on their way to another one",
     "set the same MTU on the interfaces of all nodes: ip link set dev eth0 mtu 9000",
     [](const NodeReading& node) {
       const bool known = !node.peers.links.empty() && node.peers.links.front().mtu;
       return known ? std::to_string(*node.peers.links.front().mtu) : std::string{};
     }},
};

/// The value that most nodes have; of several, that of the node that stands first.
std::string usual_value(const Nodes& nodes, const Comparison& comparison) {
  std::map<std::string, int> counts;
  for (const NodeReading& node : nodes)
    if (const std::string value = comparison.value(node); !value.empty()) ++counts[value];
  std::string usual;
  int most = 0;
  for (const NodeReading& node : nodes) {
    const std::string value = comparison.value(node);
    if (value.empty() || counts[value] <= most) continue;
    most = counts[value];
    usual = value;
  }
  return usual;
}

void compare(const Nodes& nodes, const Comparison& comparison, Findings& found) {
  const std::string usual = usual_value(nodes, comparison);
  if (usual.empty()) return;
  std::vector<std::string> others;
  for (const NodeReading& node : nodes)
    if (comparison.value(node) == usual) others.push_back(node.node);
  const std::string who = others.size() > 3
                              ? counted(static_cast<std::int64_t>(others.size()), "other node")
                              : list_text(others);
  bool same = true;
  for (const NodeReading& node : nodes) {
    const std::string value = comparison.value(node);
    if (value.empty() || value == usual) continue;
    same = false;
    found.push_back({comparison.severity, comparison.subject, node.node,
                     fmt::format("{} {}, and {} on {}", comparison.noun, value, usual, who),
                     comparison.why, comparison.advice});
  }
  if (same)
    found.push_back(all_well(comparison.subject, fmt::format("{} {}", comparison.noun, usual)));
}

/// The clock in the middle is taken for the right one, so that one wrong clock is one complaint.
void compare_clocks(const Nodes& nodes, Findings& found) {
  std::vector<double> offsets;
  for (const NodeReading& node : nodes)
    if (node.clock_offset_ms) offsets.push_back(*node.clock_offset_ms);
  if (offsets.empty()) return;
  std::ranges::sort(offsets);
  const double middle = offsets[offsets.size() / 2];
  double most = 0;
  for (const NodeReading& node : nodes) {
    if (!node.clock_offset_ms) continue;
    const double offset = *node.clock_offset_ms - middle;
    most = std::max(most, std::abs(offset));
    if (std::abs(offset) - node.clock_doubt_ms.value_or(0) < kClockOffsetMs) continue;
    found.push_back({Severity::kWarning, "clock", node.node,
                     fmt::format("the clock is {:.1f} s {} those of other nodes",
                                 std::abs(offset) / 1000, offset > 0 ? "ahead of" : "behind"),
                     "logs and reports of several nodes cannot be put in order, and files seem to "
                     "come from the future",
                     "start chrony or systemd-timesyncd on it (timedatectl, chronyc tracking)"});
  }
  if (most < kClockOffsetMs)
    found.push_back(all_well("clock", fmt::format("clocks differ by {:.0f} ms at most", most)));
}

using Shares = std::optional<std::vector<std::string>> PeersReading::*;

/// What each node lacks of the files that the others have written into a folder.
struct FolderView {
  const NodeReading* node;
  std::vector<std::string> missing;
  std::size_t others = 0;
};

std::vector<FolderView> views_of_folder(const Nodes& nodes, Shares shares) {
  std::vector<FolderView> views;
  for (const NodeReading& node : nodes) {
    const auto& seen = node.peers.*shares;
    if (!seen) continue;
    FolderView& view = views.emplace_back(FolderView{.node = &node, .missing = {}});
    for (const NodeReading& other : nodes) {
      if (&other == &node || !(other.peers.*shares)) continue;
      ++view.others;
      if (std::ranges::count(*seen, other.node) == 0) view.missing.push_back(other.node);
    }
  }
  return views;
}

/// A node that lacks the files of more than half of the others has another folder than they have.
/// `seen` of the trouble says where {} have written them.
void complain_of_folders(const std::vector<FolderView>& views, const Finding& trouble,
                         Findings& found) {
  for (const auto& [node, missing, others] : views) {
    if (missing.size() * 2 <= others) continue;
    Finding& added = found.emplace_back(trouble);
    added.node = node->node;
    added.seen = fmt::format(fmt::runtime(trouble.seen), list_text(missing));
  }
}

void compare_checkpoints(const Nodes& nodes, Findings& found) {
  const auto views = views_of_folder(nodes, &PeersReading::shares_with);
  complain_of_folders(
      views,
      {Severity::kFailed, "checkpoints-shared", "",
       "files that {} wrote into the folder of checkpoints are not seen here",
       "each node would have other checkpoints: a restart loads different ones, or finds none",
       "use a folder on a file system that all nodes mount"},
      found);
  if (!views.empty() &&
      std::ranges::all_of(views, &std::vector<std::string>::empty, &FolderView::missing))
    found.push_back(all_well("checkpoints-shared", "all nodes see the same folder of checkpoints"));
}

/// Each node may have a folder of logs of its own. That some share one, and others do not, is
/// rarely meant.
void compare_logs(const Nodes& nodes, Findings& found) {
  const auto views = views_of_folder(nodes, &PeersReading::shares_logs_with);
  if (views.size() < 2) return;
  const auto shares_all = [](const FolderView& view) { return view.missing.empty(); };
  const auto shares_none = [](const FolderView& view) {
    return view.missing.size() == view.others;
  };
  const bool all = std::ranges::all_of(views, shares_all);
  if (all || std::ranges::all_of(views, shares_none))
    return found.push_back(
        all_well("logs-shared", all ? "all nodes see the same folder of logs"
                                    : "each node has a folder of logs of its own"));
  complain_of_folders(
      views,
      {Severity::kWarning, "logs-shared", "",
       "files that {} wrote into the folder of logs are not seen here, and other nodes share it",
       "the logs of this node are not where those of the others are",
       "mount the folder there, too, or look for its logs on that node"},
      found);
}

}  // namespace

Findings compare_nodes(const Nodes& nodes) {
  Findings found;
  if (nodes.size() < 2) return found;
  for (const Comparison& comparison : kComparisons) compare(nodes, comparison, found);
  compare_clocks(nodes, found);
  compare_checkpoints(nodes, found);
  compare_logs(nodes, found);
  return found;
}

}  // namespace ddprun
