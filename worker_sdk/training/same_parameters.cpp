#include "worker_sdk/training/same_parameters.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "ddprun/objects.hpp"

namespace ddprun::sdk {

namespace {

constexpr std::size_t kFindingsShown = 8;  // enough also for a thousand ranks

std::string describe(const char* kind, const std::string& name, const torch::Tensor& tensor) {
  std::ostringstream text;
  text << kind << " '" << name << "' " << c10::toString(tensor.scalar_type()) << ' '
       << tensor.sizes();
  if (!tensor.is_contiguous()) text << " with strides " << tensor.strides();
  if (std::string{"parameter"} == kind && !tensor.requires_grad()) text << " without gradient";
  return text.str();
}

std::vector<std::string> describe(const torch::nn::Module& module) {
  std::vector<std::string> lines;
  for (const auto& one : module.named_parameters())
    lines.push_back(describe("parameter", one.key(), one.value()));
  for (const auto& one : module.named_buffers())
    lines.push_back(describe("buffer", one.key(), one.value()));
  return lines;
}

/// Returns what is different on this rank; "" when nothing is.
std::string compare(const std::vector<std::string>& own, const std::vector<std::string>& of_0) {
  const auto [mine, theirs] = std::ranges::mismatch(own, of_0);
  if (mine == own.end() && theirs == of_0.end()) return "";
  return (mine == own.end() ? "lacks " : "has " + *mine + " where rank 0 has ") +
         (theirs == of_0.end() ? "nothing" : *theirs);
}

}  // namespace

void check_same_parameters(const torch::nn::Module& module, const ProcessGroup& group) {
  const std::vector<std::string> own = describe(module);
  nlohmann::json of_rank_0 = own;
  broadcast_object(group, of_rank_0);
  const auto findings =
      all_gather_object(group, compare(own, of_rank_0.get<std::vector<std::string>>()));

  std::string message;
  std::size_t found = 0;
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto text = findings[rank].get<std::string>();
    if (text.empty() || ++found > kFindingsShown) continue;
    message += (message.empty() ? "" : "; ") + ("rank " + std::to_string(rank)) + " " + text;
  }
  if (found == 0) return;
  if (found > kFindingsShown)
    message += "; and " + std::to_string(found - kFindingsShown) + " more ranks";
  throw std::invalid_argument{"DistributedDataParallel: the module is not the same on all ranks: " +
                              message};
}

}  // namespace ddprun::sdk
