#include "ddprun/mnist.hpp"

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "worker_sdk/data/gzip_file.hpp"

namespace ddprun::sdk {

namespace {

namespace fs = std::filesystem;

constexpr std::uint8_t kUnsignedBytes = 0x08;  // the format's code for the type of its numbers
constexpr int kDimensionsMax = 8;
constexpr std::int64_t kBytesMax = std::int64_t{1} << 34;

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw std::runtime_error{"'" + path.string() + "' is no complete IDX file: " + what};
}

/// Reads four bytes, the most significant one first.
std::int64_t read_extent(GzipFile& file, const fs::path& path) {
  std::array<std::uint8_t, 4> bytes{};
  if (file.read(bytes.data(), bytes.size()) != bytes.size()) fail(path, "its header is cut off");
  std::int64_t value = 0;
  for (const std::uint8_t byte : bytes) value = value * 256 + byte;
  return value;
}

std::vector<std::int64_t> read_shape(GzipFile& file, const fs::path& path) {
  std::array<std::uint8_t, 4> magic{};
  if (file.read(magic.data(), magic.size()) != magic.size()) fail(path, "it has no header");
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != kUnsignedBytes || magic[3] < 1 ||
      magic[3] > kDimensionsMax)
    fail(path, "it does not begin with 0, 0, 8 and the number of dimensions");
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 1;
  for (int i = 0; i < magic[3]; ++i) {
    shape.push_back(read_extent(file, path));
    if (shape.back() > 0 && bytes > kBytesMax / shape.back())
      fail(path, "it claims to have more than 16 GiB");
    bytes *= shape.back();
  }
  return shape;
}

/// Returns the path of the file, which may be gzipped or not.
fs::path find(const fs::path& folder, const std::string& name) {
  for (const fs::path& place : {folder, folder / "MNIST" / "raw"})
    for (const char* suffix : {"", ".gz"})
      if (fs::exists(place / (name + suffix))) return place / (name + suffix);
  throw std::runtime_error{"there is no " + name + " or " + name + ".gz in '" + folder.string() +
                           "', nor in its MNIST/raw"};
}

LabelledImages load_part(const fs::path& folder, const std::string& part) {
  const fs::path image_file = find(folder, part + "-images-idx3-ubyte");
  const fs::path label_file = find(folder, part + "-labels-idx1-ubyte");
  const torch::Tensor images = load_idx(image_file);
  const torch::Tensor labels = load_idx(label_file);
  if (images.dim() != 3)
    fail(image_file, "images have 3 dimensions, not " + c10::str(images.dim()));
  if (labels.dim() != 1) fail(label_file, "labels have 1 dimension, not " + c10::str(labels.dim()));
  if (images.size(0) != labels.size(0))
    fail(label_file, "it has " + c10::str(labels.size(0)) + " labels for " +
                         c10::str(images.size(0)) + " images");
  return {images.unsqueeze(1).to(torch::kFloat32).div_(255), labels.to(torch::kInt64)};
}

}  // namespace

torch::Tensor load_idx(const fs::path& path) {
  GzipFile file{path};
  torch::Tensor numbers = torch::empty(read_shape(file, path), torch::kUInt8);
  const std::size_t got = file.read(numbers.mutable_data_ptr(), numbers.nbytes());
  if (got != numbers.nbytes())
    fail(path, "it has " + std::to_string(got) + " numbers, its header says " +
                   std::to_string(numbers.nbytes()));
  char more = 0;
  if (file.read(&more, 1) != 0) fail(path, "it is longer than its header says");
  return numbers;
}

Mnist load_mnist(const fs::path& folder) {
  return {load_part(folder, "train"), load_part(folder, "t10k")};
}

}  // namespace ddprun::sdk
