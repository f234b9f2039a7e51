#include "worker_sdk/elastic/state_courier.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "worker_sdk/checkpoint_files/tensor_table.hpp"
#include "worker_sdk/state/safetensors_dtype.hpp"

namespace ddprun::sdk {

namespace {

constexpr std::int64_t kPieceBytes = 16 * 1024 * 1024;

torch::Tensor empty_bytes(std::int64_t size) {
  return torch::empty({size}, torch::dtype(torch::kUInt8));
}

/// The bytes of a tensor in the memory of the host; a copy where they do not lie there in one
/// piece.
torch::Tensor bytes_of(const torch::Tensor& tensor) {
  return tensor.detach().to(torch::kCPU).contiguous().reshape({-1}).view(torch::kUInt8);
}

std::vector<torch::Tensor> bytes_of(const SafeTensors& state) {
  std::vector<torch::Tensor> flats;
  for (const auto& [name, tensor] : state.tensors) flats.push_back(bytes_of(tensor));
  return flats;
}

/// Bytes `begin` to `end` of a tensor, which lie at `place` of a piece.
struct Cut {
  const torch::Tensor* flat;
  std::int64_t begin;
  std::int64_t end;
  std::int64_t place;
};

/// How the tensors, one behind the other, are cut into pieces of kPieceBytes at most.
std::vector<std::vector<Cut>> pieces_of(const std::vector<torch::Tensor>& flats) {
  std::vector<std::vector<Cut>> pieces;
  std::int64_t filled = kPieceBytes;  // bytes in the last piece
  for (const torch::Tensor& flat : flats) {
    for (std::int64_t begin = 0; begin < flat.numel();) {
      if (filled == kPieceBytes) {
        pieces.emplace_back();
        filled = 0;
      }
      const std::int64_t length = std::min(flat.numel() - begin, kPieceBytes - filled);
      pieces.back().push_back({&flat, begin, begin + length, filled});
      begin += length;
      filled += length;
    }
  }
  return pieces;
}

/// Tensors as a header describes them, with nothing in them yet.
SafeTensors described_by(const std::string& header, std::int64_t data_bytes) {
  const TensorTable table = parse_tensor_table(std::string_view{header}.substr(kHeaderLengthBytes),
                                               static_cast<std::uint64_t>(data_bytes));
  SafeTensors state;
  state.metadata = table.metadata;
  for (const auto& [name, entry] : table.tensors)
    state.tensors[name] = torch::empty(entry.shape, *safetensors_dtype(entry.dtype));
  return state;
}

}  // namespace

SafeTensors StateCourier::carry(SafeTensors state) {
  const torch::NoGradGuard no_grad;
  const Sizes sizes = carry_sizes(state);
  const std::string header =
      carry_header(sends() ? safetensors_header(state) : std::string(sizes.header, ' '));
  if (!sends()) state = described_by(header, sizes.data);
  carry_bytes(bytes_of(state));
  return state;
}

StateCourier::Sizes StateCourier::carry_sizes(const SafeTensors& state) const {
  torch::Tensor sizes = torch::zeros({2}, torch::kInt64);
  if (sends()) {
    std::int64_t data = 0;
    for (const auto& [name, tensor] : state.tensors)
      data += static_cast<std::int64_t>(tensor.nbytes());
    sizes = torch::tensor({static_cast<std::int64_t>(safetensors_header(state).size()), data});
  }
  broadcast(sizes);
  const auto header = sizes[0].item<std::int64_t>();
  if (header <= static_cast<std::int64_t>(kHeaderLengthBytes) ||
      header > static_cast<std::int64_t>(kHeaderLengthBytes + kHeaderBytesMax))
    throw std::runtime_error{"the header of a state has " + std::to_string(header) + " bytes"};
  return {static_cast<std::size_t>(header), sizes[1].item<std::int64_t>()};
}

std::string StateCourier::carry_header(std::string header) {
  const torch::Tensor bytes = torch::from_blob(
      header.data(), {static_cast<std::int64_t>(header.size())}, torch::dtype(torch::kUInt8));
  broadcast(bytes);
  hash_.update(header.data(), header.size());
  return header;
}

void StateCourier::carry_bytes(const std::vector<torch::Tensor>& flats) {
  const std::array buffers{empty_bytes(kPieceBytes), empty_bytes(kPieceBytes)};
  std::future<void> hashed;  // the piece before
  std::size_t number = 0;
  for (const std::vector<Cut>& cuts : pieces_of(flats)) {
    const Cut& last = cuts.back();
    const torch::Tensor piece =
        buffers[number++ % buffers.size()].narrow(0, 0, last.place + last.end - last.begin);
    const auto in_piece = [&](const Cut& cut) {
      return piece.narrow(0, cut.place, cut.end - cut.begin);
    };
    const auto in_tensor = [](const Cut& cut) {
      return cut.flat->narrow(0, cut.begin, cut.end - cut.begin);
    };
    if (sends())
      for (const Cut& cut : cuts) in_piece(cut).copy_(in_tensor(cut));
    broadcast(piece);
    if (!sends())
      for (const Cut& cut : cuts) in_tensor(cut).copy_(in_piece(cut));
    if (hashed.valid()) hashed.get();
    hashed = std::async(std::launch::async, [this, piece] {
      hash_.update(piece.const_data_ptr(), static_cast<std::size_t>(piece.numel()));
    });
  }
  if (hashed.valid()) hashed.get();
}

/// Over the group's device, where that is not the memory of the host.
void StateCourier::broadcast(const torch::Tensor& tensor) const {
  if (group_.device().is_cpu()) return group_.broadcast(tensor, root_);
  const torch::Tensor there = tensor.to(group_.device());
  group_.broadcast(there, root_);
  if (!sends()) tensor.copy_(there);
}

std::string digest_of(const SafeTensors& state) {
  Sha256 hash;
  const std::string header = safetensors_header(state);
  hash.update(header.data(), header.size());
  for (const torch::Tensor& flat : bytes_of(state))
    hash.update(flat.const_data_ptr(), static_cast<std::size_t>(flat.numel()));
  return hash.hex();
}

}  // namespace ddprun::sdk
