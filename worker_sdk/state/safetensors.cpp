#include "ddprun/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "worker_sdk/checkpoint_files/atomic_file.hpp"
#include "worker_sdk/checkpoint_files/mapped_file.hpp"
#include "worker_sdk/checkpoint_files/tensor_table.hpp"
#include "worker_sdk/state/safetensors_dtype.hpp"

namespace ddprun::sdk {

namespace {

using nlohmann::json;

constexpr std::size_t kAlignment = 8;
constexpr char kMetadata[] = "__metadata__";

struct DtypeName {
  torch::ScalarType type;
  std::string_view name;
};
constexpr std::array kDtypes{
    DtypeName{torch::kFloat64, "F64"}, DtypeName{torch::kFloat32, "F32"},
    DtypeName{torch::kFloat16, "F16"}, DtypeName{torch::kBFloat16, "BF16"},
    DtypeName{torch::kInt64, "I64"},   DtypeName{torch::kInt32, "I32"},
    DtypeName{torch::kInt16, "I16"},   DtypeName{torch::kInt8, "I8"},
    DtypeName{torch::kUInt8, "U8"},    DtypeName{torch::kBool, "BOOL"},
};

std::string dtype_name(const std::string& tensor, torch::ScalarType type) {
  const auto found = std::ranges::find(kDtypes, type, &DtypeName::type);
  if (found == kDtypes.end())
    throw std::invalid_argument{"tensor '" + tensor + "' is of dtype " + c10::toString(type) +
                                ", which safetensors cannot hold"};
  return std::string{found->name};
}

/// Returns the header as JSON text, padded with spaces so that the tensors' bytes are aligned. The
/// eight bytes of its length are not part of it.
std::string make_header(const SafeTensors& contents) {
  json header = json::object();
  if (!contents.metadata.empty()) header[kMetadata] = contents.metadata;
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : contents.tensors) {
    const std::uint64_t end = offset + tensor.nbytes();
    header[name] = {{"dtype", dtype_name(name, tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  // What load_safetensors() would refuse must not be written.
  if (text.size() > kHeaderBytesMax || contents.tensors.size() > kTensorsMax ||
      contents.metadata.size() > kTensorsMax)
    throw std::invalid_argument{
        std::to_string(contents.tensors.size()) + " tensors with a header of " +
        std::to_string(text.size()) + " bytes are too many for a safetensors file: " +
        std::to_string(kTensorsMax) + " and " + std::to_string(kHeaderBytesMax) + " are possible"};
  return text;
}

/// Reads one file, and names it in errors.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path)
      : path_{path}, file_{std::make_shared<MappedFile>(path)} {}

  SafeTensors read() {
    TensorTable table = read_table();
    SafeTensors contents;
    contents.metadata = std::move(table.metadata);
    for (const auto& [name, entry] : table.tensors) contents.tensors[name] = read_tensor(entry);
    return contents;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error{"'" + path_.string() +
                             "' is not a complete safetensors file: " + what};
  }

 private:
  TensorTable read_table() {
    const std::span<const std::byte> bytes = file_->bytes();
    try {
      std::uint64_t length = 0;
      std::memcpy(&length, bytes.data(), std::min(bytes.size(), sizeof length));
      check_header_length(length, bytes.size());
      const std::string header{reinterpret_cast<const char*>(bytes.data()) + sizeof length, length};
      data_begin_ = sizeof length + length;
      return parse_tensor_table(header, bytes.size() - data_begin_);
    } catch (const std::runtime_error& e) {
      fail(e.what());
    }
  }

  /// The table has only tensors that lie inside the file, with bytes as their shapes need. They
  /// stay there, unless the file has them where numbers of their dtype cannot be.
  torch::Tensor read_tensor(const TensorEntry& entry) {
    const auto type = torch::dtype(type_named(entry.dtype));
    const std::size_t size = entry.end - entry.begin;
    if (size == 0) return torch::empty(entry.shape, type);
    std::byte* const begin = file_->bytes().data() + data_begin_ + entry.begin;
    if (reinterpret_cast<std::uintptr_t>(begin) % type.dtype().itemsize() == 0)
      return torch::from_blob(
          begin, entry.shape, [file = file_](void*) {}, type);
    torch::Tensor copy = torch::empty(entry.shape, type);
    std::memcpy(copy.mutable_data_ptr(), begin, size);
    return copy;
  }

  torch::ScalarType type_named(const std::string& dtype) const {
    const auto type = safetensors_dtype(dtype);
    if (!type) fail("the dtype '" + dtype + "' is not one of LibTorch's");
    return *type;
  }

  std::filesystem::path path_;
  std::shared_ptr<MappedFile> file_;  // the tensors share it
  std::size_t data_begin_ = 0;
};

}  // namespace

std::optional<torch::ScalarType> safetensors_dtype(std::string_view name) {
  const auto found = std::ranges::find(kDtypes, name, &DtypeName::name);
  if (found == kDtypes.end()) return std::nullopt;
  return found->type;
}

std::string safetensors_header(const SafeTensors& contents) {
  const std::string header = make_header(contents);
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header;
}

void save_safetensors(const std::filesystem::path& path, const SafeTensors& contents) {
  const std::string header = safetensors_header(contents);
  AtomicFile file{path};
  file.write(header.data(), header.size());
  for (const auto& [name, tensor] : contents.tensors) {
    const torch::Tensor plain = tensor.detach().to(torch::kCPU).contiguous();
    file.write(plain.const_data_ptr(), plain.nbytes());
  }
  file.commit();
}

SafeTensors load_safetensors(const std::filesystem::path& path) { return Reader{path}.read(); }

}  // namespace ddprun::sdk
