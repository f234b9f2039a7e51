#include "worker_sdk/same_parameters.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace ddprun::sdk {

namespace {

constexpr std::int64_t kFindingBytes = 256;
constexpr std::size_t kFindingsShown = 8;  // of a thousand ranks, these say enough

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

torch::Tensor to_bytes(const std::string& text, std::int64_t size) {
  torch::Tensor bytes = torch::zeros({size}, torch::kUInt8);
  std::copy_n(text.begin(), std::min(size, static_cast<std::int64_t>(text.size())),
              bytes.mutable_data_ptr<std::uint8_t>());
  return bytes;
}

std::string to_text(const torch::Tensor& tensor) {
  const torch::Tensor bytes = tensor.cpu();
  const auto* begin = reinterpret_cast<const char*>(bytes.const_data_ptr<std::uint8_t>());
  return {begin, std::find(begin, begin + bytes.numel(), '\0')};
}

std::vector<std::string> lines_of_rank_0(const std::vector<std::string>& own,
                                         const ProcessGroup& group) {
  std::string joined;
  for (const std::string& line : own) joined += line + '\n';
  torch::Tensor size = torch::tensor({static_cast<std::int64_t>(joined.size())}).to(group.device());
  group.broadcast(size);
  torch::Tensor bytes = to_bytes(joined, size.item<std::int64_t>()).to(group.device());
  if (bytes.numel() > 0) group.broadcast(bytes);
  std::istringstream text{to_text(bytes)};
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// What is different here; "" when nothing is.
std::string compare(const std::vector<std::string>& own, const std::vector<std::string>& of_0) {
  const auto [mine, theirs] = std::ranges::mismatch(own, of_0);
  if (mine == own.end() && theirs == of_0.end()) return "";
  return (mine == own.end() ? "lacks " : "has " + *mine + " where rank 0 has ") +
         (theirs == of_0.end() ? "nothing" : *theirs);
}

}  // namespace

void check_same_parameters(const torch::nn::Module& module, const ProcessGroup& group) {
  const std::vector<std::string> own = describe(module);
  const std::string finding = compare(own, lines_of_rank_0(own, group));
  const auto findings = group.all_gather(to_bytes(finding, kFindingBytes).to(group.device()));

  std::string message;
  std::size_t found = 0;
  for (int rank = 0; rank < group.size(); ++rank) {
    const std::string text = to_text(findings[rank]);
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
