#include "ddprun/objects.hpp"

#include <algorithm>
#include <utility>

namespace ddprun::sdk {

namespace {

using Json = nlohmann::json;

std::vector<std::uint8_t> encode(const Json& object) { return Json::to_cbor(object); }

Json decode(const Operation& operation, const torch::Tensor& bytes, std::int64_t length) try {
  const torch::Tensor here = bytes.cpu();
  const auto* begin = here.const_data_ptr<std::uint8_t>();
  return Json::from_cbor(begin, begin + length);
} catch (const Json::exception& e) {
  throw CommunicationError{operation.describe() +
                           ": what has arrived is no JSON value: " + e.what()};
}

/// Returns `bytes`, filled up with zeros to `length`, on the group's device.
torch::Tensor padded(const ProcessGroup& group, const std::vector<std::uint8_t>& bytes,
                     std::int64_t length) {
  torch::Tensor tensor = torch::zeros({length}, torch::kUInt8);
  std::ranges::copy(bytes, tensor.mutable_data_ptr<std::uint8_t>());
  return tensor.to(group.device());
}

torch::Tensor numbers(const ProcessGroup& group, const std::vector<std::int64_t>& values) {
  return torch::tensor(values, torch::kInt64).to(group.device());
}

std::vector<std::int64_t> values_of(const torch::Tensor& tensor) {
  const torch::Tensor here = tensor.cpu();
  const auto* begin = here.const_data_ptr<std::int64_t>();
  return {begin, begin + here.numel()};
}

std::vector<std::int64_t> lengths_of_all(const ProcessGroup& group, std::size_t own) {
  const torch::Tensor all = numbers(group, std::vector<std::int64_t>(group.size()));
  group.all_gather_into_tensor(all, numbers(group, {static_cast<std::int64_t>(own)}));
  return values_of(all);
}

std::vector<Json> decode_all(const Operation& operation, const Tensors& all,
                             const std::vector<std::int64_t>& lengths) {
  std::vector<Json> objects;
  for (std::size_t i = 0; i < all.size(); ++i)
    objects.push_back(decode(operation, all[i], lengths[i]));
  return objects;
}

}  // namespace

void broadcast_object(const ProcessGroup& group, Json& object, int root) {
  const std::vector<std::uint8_t> own =
      group.rank() == root ? encode(object) : std::vector<std::uint8_t>{};
  const torch::Tensor length = numbers(group, {static_cast<std::int64_t>(own.size())});
  group.broadcast(length, root);
  const std::int64_t bytes = values_of(length).front();
  const torch::Tensor contents = padded(group, own, bytes);
  group.broadcast(contents, root);
  if (group.rank() != root) object = decode(group.operation("broadcast_object"), contents, bytes);
}

std::vector<Json> all_gather_object(const ProcessGroup& group, const Json& object) {
  const std::vector<std::uint8_t> own = encode(object);
  const auto lengths = lengths_of_all(group, own.size());
  const Tensors all = group.all_gather(padded(group, own, *std::ranges::max_element(lengths)));
  return decode_all(group.operation("all_gather_object"), all, lengths);
}

std::vector<Json> gather_object(const ProcessGroup& group, const Json& object, int root) {
  const std::vector<std::uint8_t> own = encode(object);
  const auto lengths = lengths_of_all(group, own.size());
  const Tensors all = group.gather(padded(group, own, *std::ranges::max_element(lengths)), root);
  return decode_all(group.operation("gather_object"), all, lengths);
}

Json scatter_object(const ProcessGroup& group, const std::vector<Json>& objects, int root) {
  const Operation call = group.operation("scatter_object");
  const bool is_root = group.rank() == root;
  if (is_root && static_cast<int>(objects.size()) != group.size())
    call.refuse("there are " + std::to_string(objects.size()) +
                " objects, expected one for each of the " + std::to_string(group.size()) +
                " ranks");
  std::vector<std::vector<std::uint8_t>> encoded;
  std::vector<std::int64_t> own_lengths(group.size());
  for (std::size_t i = 0; is_root && i < objects.size(); ++i) {
    encoded.push_back(encode(objects[i]));
    own_lengths[i] = static_cast<std::int64_t>(encoded.back().size());
  }
  const torch::Tensor lengths = numbers(group, own_lengths);
  group.broadcast(lengths, root);
  const std::int64_t longest = lengths.max().item<std::int64_t>();
  Tensors inputs;
  for (const auto& bytes : encoded) inputs.push_back(padded(group, bytes, longest));
  const torch::Tensor output = padded(group, {}, longest);
  group.scatter(output, inputs, root);
  return decode(call, output, values_of(lengths)[group.rank()]);
}

}  // namespace ddprun::sdk
