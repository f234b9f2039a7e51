#include "worker_sdk/tensor_parcel.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace ddprun::sdk {

namespace {

constexpr std::int64_t kContentsBytesMax = 1 << 30;

/// A line each: name, dtype, number of dimensions, sizes.
std::string contents_of(const NamedTensors& tensors) {
  std::ostringstream text;
  for (const auto& [name, tensor] : tensors) {
    text << name << ' ' << static_cast<int>(tensor.scalar_type()) << ' ' << tensor.dim();
    for (const std::int64_t size : tensor.sizes()) text << ' ' << size;
    text << '\n';
  }
  return text.str();
}

[[noreturn]] void refuse(int peer) {
  throw std::runtime_error{"receive_tensors: what rank " + std::to_string(peer) +
                           " sent is no parcel of tensors; do all ranks make the same calls?"};
}

std::string receive_contents(const ProcessGroup& group, int peer) {
  const torch::Tensor size = torch::zeros({1}, torch::dtype(torch::kInt64).device(group.device()));
  group.recv(size, peer);
  const auto bytes = size.item<std::int64_t>();
  if (bytes < 0 || bytes > kContentsBytesMax) refuse(peer);
  if (bytes == 0) return "";
  torch::Tensor text = torch::zeros({bytes}, torch::dtype(torch::kUInt8).device(group.device()));
  group.recv(text, peer);
  text = text.cpu();
  return {reinterpret_cast<const char*>(text.const_data_ptr<std::uint8_t>()),
          static_cast<std::size_t>(bytes)};
}

}  // namespace

void send_tensors(const NamedTensors& tensors, const ProcessGroup& group, int peer) {
  const std::string contents = contents_of(tensors);
  const auto size = static_cast<std::int64_t>(contents.size());
  group.send(torch::tensor({size}, torch::kInt64).to(group.device()), peer);
  if (size == 0) return;
  torch::Tensor text = torch::empty({size}, torch::kUInt8);
  std::ranges::copy(contents, text.mutable_data_ptr<std::uint8_t>());
  group.send(text.to(group.device()), peer);
  for (const auto& [name, tensor] : tensors)
    group.send(tensor.detach().to(group.device()).contiguous(), peer);
}

NamedTensors receive_tensors(const ProcessGroup& group, int peer) {
  std::istringstream contents{receive_contents(group, peer)};
  NamedTensors tensors;
  std::string name;
  int dtype = 0;
  std::int64_t dimensions = 0;
  while (contents >> name >> dtype >> dimensions) {
    if (dtype < 0 || dtype >= static_cast<int>(torch::ScalarType::Undefined) || dimensions < 0)
      refuse(peer);
    std::vector<std::int64_t> sizes(dimensions);
    for (std::int64_t& size : sizes) contents >> size;
    if (!contents) refuse(peer);
    const auto tensor = torch::empty(
        sizes, torch::dtype(static_cast<torch::ScalarType>(dtype)).device(group.device()));
    group.recv(tensor, peer);
    tensors.emplace(name, tensor);
  }
  return tensors;
}

}  // namespace ddprun::sdk
