#include "launcher/doctor/check/fitness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/number_text.hpp"
#include "launcher/doctor/check/checks.hpp"
#include "launcher/doctor/check/finding.hpp"

namespace ddprun {

namespace {

using State = NodeFitness::State;

/// A context of CUDA alone takes more; what only watches a GPU takes less.
constexpr std::int64_t kForeignBytesMax = std::int64_t{256} << 20;

std::optional<NodeFitness> first_failure(const Findings& findings) {
  const auto failed = std::ranges::find(findings, Severity::kFailed, &Finding::severity);
  if (failed == findings.end()) return std::nullopt;
  return NodeFitness{State::kUnfit, failed->seen, failed->advice};
}

/// The GPUs of others may be as they like, or gone.
void leave_out_others(GpusReading& gpus, const std::vector<int>& wanted) {
  std::erase_if(gpus.gpus,
                [&](const GpuReading& gpu) { return std::ranges::count(wanted, gpu.index) == 0; });
  gpus.present = static_cast<int>(wanted.size());
}

NodeFitness in_use(const GpuReading& gpu, std::int64_t bytes, const std::string& by) {
  return {State::kBusy,
          fmt::format("{} of GPU{} are in use, by {}", bytes_text(bytes), gpu.index, by),
          "end what is left of earlier jobs there (nvidia-smi, ddprun ls), or leave this GPU out: "
          "CUDA_VISIBLE_DEVICES"};
}

/// Whether somebody else uses the GPU, or a worker that is dead and has not let go of it. Of some
/// processes the driver does not tell how much they use, and some it does not show at all.
std::optional<NodeFitness> use_by_others(const GpuReading& gpu, const JobGpus& job) {
  std::vector<std::string> users;
  std::int64_t bytes = 0;
  std::int64_t unseen = gpu.used_bytes.value_or(0);
  bool ours_may_be_unseen = job.workers_live;
  for (const GpuProcess& process : gpu.processes) {
    unseen -= process.bytes;
    const bool is_nameless = process.name.empty();
    const bool is_ours = job.pids.contains(process.pid) || (is_nameless && job.workers_live);
    ours_may_be_unseen = ours_may_be_unseen || (is_ours && process.bytes == 0);
    if (is_ours) continue;
    users.push_back(user_text(process));
    bytes += process.bytes;
  }
  if (bytes > kForeignBytesMax) return in_use(gpu, bytes, list_text(users));
  if (ours_may_be_unseen || unseen < kDriverBytesMax) return std::nullopt;
  return in_use(gpu, unseen, kUnseenUser);
}

}  // namespace

NodeFitness fitness_of(NodeReading reading, const JobGpus& job) {
  if (auto failure = first_failure(check_folders(reading))) return *failure;
  if (!reading.gpus || job.hidden) return {};
  if (!reading.gpus->error.empty())
    if (auto failure = first_failure(check_gpus(reading))) return *failure;
  if (job.indices.empty()) return {};
  leave_out_others(*reading.gpus, job.indices);
  if (auto failure = first_failure(check_gpus(reading))) return *failure;
  for (const GpuReading& gpu : reading.gpus->gpus)
    if (auto use = use_by_others(gpu, job)) return *use;
  return {};
}

}  // namespace ddprun
