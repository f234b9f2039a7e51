// The ResNet-18 of resnet.cpp, for images of 32 x 32 pixels (https://arxiv.org/abs/1512.03385): the
// first convolution has 3 x 3 pixels, and nothing is pooled before the end. And what it is trained
// on: CIFAR-10, or images that are made up.
#pragma once

#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <ddprun/labelled_images.hpp>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace resnet {

using ddprun::sdk::LabelledImages;
using torch::Tensor;
namespace nn = torch::nn;

inline nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t size,
                              std::int64_t stride) {
  return nn::Conv2d{nn::Conv2dOptions(in, out, size).stride(stride).padding(size / 2).bias(false)};
}

struct BlockImpl : nn::Module {
  BlockImpl(std::int64_t in, std::int64_t out, std::int64_t stride) {
    conv1 = register_module("conv1", convolution(in, out, 3, stride));
    bn1 = register_module("bn1", nn::BatchNorm2d(out));
    conv2 = register_module("conv2", convolution(out, out, 3, 1));
    bn2 = register_module("bn2", nn::BatchNorm2d(out));
    if (stride == 1 && in == out) return;
    shortcut = nn::Sequential(convolution(in, out, 1, stride), nn::BatchNorm2d(out));
    register_module("downsample", shortcut);
  }

  Tensor forward(const Tensor& x) {
    const Tensor inner = bn2(conv2(torch::relu(bn1(conv1(x)))));
    return torch::relu(inner + (shortcut ? shortcut->forward(x) : x));
  }

  nn::Conv2d conv1{nullptr}, conv2{nullptr};
  nn::BatchNorm2d bn1{nullptr}, bn2{nullptr};
  nn::Sequential shortcut{nullptr};
};
TORCH_MODULE(Block);

/// Takes images, [N, 3, 32, 32], and returns logits of ten classes. The first layers have `width`
/// channels, 64 in the paper; names are torchvision's. Weights come from the seed, and lie in
/// memory with the channels last, which convolutions are faster with.
struct ResNet18 : nn::Module {
  ResNet18(std::int64_t width, std::uint64_t seed) {
    conv1 = register_module("conv1", convolution(3, width, 3, 1));
    bn1 = register_module("bn1", nn::BatchNorm2d(width));
    for (std::int64_t i = 0, in = width; i < 4; ++i) {
      const std::int64_t out = width << i;
      layers.push_back(
          register_module("layer" + std::to_string(i + 1),
                          nn::Sequential(Block(in, out, i == 0 ? 1 : 2), Block(out, out, 1))));
      in = out;
    }
    fc = register_module("fc", nn::Linear(width * 8, 10));
    torch::NoGradGuard no_grad;
    torch::manual_seed(seed);
    for (Tensor& weight : parameters()) init(weight);
    fc->bias.zero_();
  }

  static void init(Tensor& weight) {
    if (weight.dim() == 2) weight.normal_(0, 0.01);
    if (weight.dim() != 4) return;
    weight.normal_(0, std::sqrt(2.0 / static_cast<double>(weight.numel() / weight.size(1))));
    weight.set_data(weight.clone(torch::MemoryFormat::ChannelsLast));
  }

  Tensor forward(Tensor x) {
    x = torch::relu(bn1(conv1(x)));
    for (nn::Sequential& layer : layers) x = layer->forward(x);
    return fc(x.mean({2, 3}));
  }

  nn::Conv2d conv1{nullptr};
  nn::BatchNorm2d bn1{nullptr};
  std::vector<nn::Sequential> layers;
  nn::Linear fc{nullptr};
};

/// Floating-point operations of matrix products an image, forward and backward.
inline double flops_per_image(const ResNet18& model) {
  double products = 0;
  for (const auto& one : model.named_parameters()) {
    if (one.value().dim() < 2) continue;
    const bool in_layer = one.key().starts_with("layer");
    const int halvings = in_layer ? one.key()[5] - '1' : 0;  // each halves the image's edge
    const int places = one.value().dim() == 4 ? (32 * 32) >> (2 * halvings) : 1;
    products += static_cast<double>(one.value().numel()) * places;
  }
  return 6 * products;
}

/// Images are [N, 3, 32, 32] uint8.
struct Data {
  LabelledImages train, test;
};

/// Reads a file of CIFAR-10's binary version (https://www.cs.toronto.edu/~kriz/cifar.html): for
/// each image a byte with its class, and 3 x 32 x 32 with its pixels.
inline LabelledImages read_cifar10(const std::filesystem::path& file) {
  constexpr std::int64_t kRecord = 1 + 3 * 32 * 32;
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(file));
  if (bytes == 0 || bytes % kRecord != 0)
    throw std::runtime_error{"'" + file.string() + "' is no file of CIFAR-10: it has " +
                             std::to_string(bytes) + " bytes"};
  const Tensor records =
      torch::from_file(file.string(), false, bytes, torch::kUInt8).view({-1, kRecord});
  return {records.narrow(1, 1, kRecord - 1).reshape({-1, 3, 32, 32}),
          records.select(1, 0).to(torch::kInt64)};
}

inline Data load_cifar10(const std::filesystem::path& folder) {
  std::vector<Tensor> images, labels;
  for (int i = 1; i <= 5; ++i) {
    const auto part = read_cifar10(folder / ("data_batch_" + std::to_string(i) + ".bin"));
    images.push_back(part.images);
    labels.push_back(part.labels);
  }
  return {{torch::cat(images), torch::cat(labels)}, read_cifar10(folder / "test_batch.bin")};
}

/// Images of ten coarse patterns, with noise: `count` to train with, and a tenth of that to test
/// with.
inline Data make_up(std::int64_t count, std::uint64_t seed) {
  torch::manual_seed(seed);
  const std::int64_t all = count + (count + 9) / 10;
  const Tensor patterns =
      torch::randn({10, 3, 4, 4}).repeat_interleave(8, 2).repeat_interleave(8, 3);
  const Tensor labels = torch::randint(10, {all}, torch::kInt64);
  const Tensor noise = torch::randn({all, 3, 32, 32});
  const Tensor images =
      (128 + 32 * patterns.index_select(0, labels) + 32 * noise).clamp(0, 255).to(torch::kUInt8);
  return {{images.slice(0, 0, count), labels.slice(0, 0, count)},
          {images.slice(0, count), labels.slice(0, count)}};
}

/// Reads CIFAR-10 from `folder` or, without one, makes `count` images up.
inline Data load(const std::filesystem::path& folder, std::int64_t count, std::uint64_t seed) {
  if (folder.empty() == (count == 0))
    throw std::invalid_argument{"give either --data or --synthetic"};
  return folder.empty() ? make_up(count, seed) : load_cifar10(folder);
}

/// Moves each image by up to four pixels, and mirrors every other one. The dice are the CPU's, so
/// that they fall alike on all devices.
inline Tensor augment(const Tensor& images) {
  const std::int64_t count = images.size(0);
  const Tensor places = torch::randint(9, {count, 2, 1}, torch::kInt64);
  const Tensor mirrored = torch::rand({count, 1}) < 0.5;
  const Tensor pixels = torch::arange(32);
  const Tensor rows = places.select(1, 0) + pixels;
  const Tensor columns = places.select(1, 1) + torch::where(mirrored, 31 - pixels, pixels);
  const Tensor which = torch::arange(count).view({-1, 1, 1});
  const auto on_device = [&](const Tensor& tensor) { return tensor.to(images.device()); };
  return torch::constant_pad_nd(images, {4, 4, 4, 4})
      .index({on_device(which), torch::indexing::Slice(), on_device(rows.unsqueeze(2)),
              on_device(columns.unsqueeze(1))})
      .permute({0, 3, 1, 2});
}

/// Gives each channel of uint8 images about mean 0 and variance 1, as float32 with the channels
/// last.
inline Tensor normalize(const Tensor& images) {
  const auto per_channel = [&](std::vector<float> values) {
    return torch::tensor(values, images.device()).view({3, 1, 1});
  };
  const Tensor scaled = images.to(torch::kFloat32) / 255;
  return ((scaled - per_channel({0.4914f, 0.4822f, 0.4465f})) /
          per_channel({0.247f, 0.2435f, 0.2616f}))
      .contiguous(torch::MemoryFormat::ChannelsLast);
}

}  // namespace resnet
