#include "worker_sdk/training/gather_tensors.hpp"

#include "ddprun/objects.hpp"

namespace ddprun::sdk {

namespace {

struct Entry {
  std::string name;
  int dtype = 0;
  std::vector<std::int64_t> sizes;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Entry, name, dtype, sizes)
};

std::vector<Entry> contents_of(const NamedTensors& tensors) {
  std::vector<Entry> contents;
  for (const auto& [name, tensor] : tensors)
    contents.push_back({name, static_cast<int>(tensor.scalar_type()), tensor.sizes().vec()});
  return contents;
}

/// One message. A batch of one, because NCCL sends that by the group's own connections, and makes
/// new ones of each pair of ranks for a plain send() and recv().
void in_group(const ProcessGroup& group, P2POp::Kind kind, const torch::Tensor& tensor, int peer) {
  wait_all(group.batch_isend_irecv({{kind, tensor, peer}}));
}

NamedTensors receive(const std::vector<Entry>& contents, const ProcessGroup& group, int peer) {
  NamedTensors tensors;
  for (const Entry& entry : contents) {
    const auto dtype = static_cast<torch::ScalarType>(entry.dtype);
    const auto tensor = torch::empty(entry.sizes, torch::dtype(dtype).device(group.device()));
    in_group(group, P2POp::Kind::kRecv, tensor, peer);
    tensors.emplace(entry.name, tensor.cpu());
  }
  return tensors;
}

}  // namespace

std::vector<NamedTensors> gather_tensors(const NamedTensors& tensors, const ProcessGroup& group,
                                         int root) {
  const auto contents = gather_object(group, contents_of(tensors), root);
  if (group.rank() != root) {
    for (const auto& [name, tensor] : tensors)
      in_group(group, P2POp::Kind::kSend, tensor.detach().to(group.device()).contiguous(), root);
    return {};
  }
  std::vector<NamedTensors> all;
  for (int rank = 0; rank < group.size(); ++rank)
    if (rank != root) all.push_back(receive(contents[rank].get<std::vector<Entry>>(), group, rank));
  return all;
}

}  // namespace ddprun::sdk
