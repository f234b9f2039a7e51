#include "ddprun/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "worker_sdk/checkpoint_files/atomic_file.hpp"
#include "worker_sdk/checkpoint_files/shown_text.hpp"
#include "worker_sdk/checkpoint_files/tensor_table.hpp"

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
  // What nobody could read must not be written.
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
  /// Nobody waits for a pipe to be written to.
  explicit Reader(const std::filesystem::path& path) : path_{path} {
    std::error_code error;
    if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
      throw std::runtime_error{"'" + path.string() + "' is no regular file"};
    file_.open(path, std::ios::binary);
    if (!file_)
      throw std::runtime_error{"cannot open '" + path.string() + "': " + std::strerror(errno)};
    file_size_ = std::filesystem::file_size(path);
  }

  SafeTensors read() {
    TensorTable table = read_table();
    SafeTensors contents;
    contents.metadata = std::move(table.metadata);
    for (const auto& [name, entry] : table.tensors)
      contents.tensors[name] = read_tensor(name, entry);
    return contents;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error{"'" + path_.string() +
                             "' is not a complete safetensors file: " + what};
  }

 private:
  TensorTable read_table() {
    try {
      std::uint64_t length = 0;
      file_.read(reinterpret_cast<char*>(&length), sizeof length);
      check_header_length(length, file_size_);
      std::string header(length, '\0');
      file_.read(header.data(), static_cast<std::streamsize>(length));
      data_begin_ = sizeof length + length;
      return parse_tensor_table(header, file_size_ - data_begin_);
    } catch (const std::runtime_error& e) {
      fail(e.what());
    }
  }

  /// The table has only tensors that lie inside the file, with bytes as their shapes need.
  torch::Tensor read_tensor(const std::string& name, const TensorEntry& entry) {
    torch::Tensor tensor = torch::empty(entry.shape, type_named(entry.dtype));
    file_.seekg(static_cast<std::streamoff>(data_begin_ + entry.begin));
    file_.read(static_cast<char*>(tensor.mutable_data_ptr()),
               static_cast<std::streamsize>(entry.end - entry.begin));
    if (!file_) fail("tensor '" + shown(name) + "' cannot be read");
    return tensor;
  }

  torch::ScalarType type_named(const std::string& dtype) const {
    const auto found = std::ranges::find(kDtypes, dtype, &DtypeName::name);
    if (found == kDtypes.end()) fail("the dtype '" + dtype + "' is not one of LibTorch's");
    return found->type;
  }

  std::filesystem::path path_;
  std::ifstream file_;
  std::uint64_t file_size_ = 0;
  std::uint64_t data_begin_ = 0;
};

}  // namespace

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
