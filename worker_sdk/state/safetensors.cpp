#include "ddprun/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "worker_sdk/checkpoint_files/atomic_file.hpp"

namespace ddprun::sdk {

namespace {

using nlohmann::json;

constexpr std::uint64_t kHeaderBytesMax = 100'000'000;  // the reference implementation's limit
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
  return text;
}

/// Reads one file, and names it in errors.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_{path}, file_{path, std::ios::binary} {
    if (!file_)
      throw std::runtime_error{"cannot open '" + path.string() + "': " + std::strerror(errno)};
    file_size_ = std::filesystem::file_size(path);
  }

  SafeTensors read() {
    const json header = read_header();
    SafeTensors contents;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> extents;
    for (const auto& [name, entry] : header.items()) {
      if (name == kMetadata)
        contents.metadata = entry.get<std::map<std::string, std::string>>();
      else
        contents.tensors[name] = read_tensor(name, entry, extents);
    }
    check_extents(std::move(extents));
    return contents;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error{"'" + path_.string() +
                             "' is not a complete safetensors file: " + what};
  }

 private:
  json read_header() {
    std::uint64_t length = 0;
    if (file_size_ < sizeof length) fail("it has " + std::to_string(file_size_) + " bytes");
    file_.read(reinterpret_cast<char*>(&length), sizeof length);
    if (length > kHeaderBytesMax || length > file_size_ - sizeof length)
      fail("its header claims " + std::to_string(length) + " bytes");
    std::string text(length, '\0');
    file_.read(text.data(), static_cast<std::streamsize>(length));
    data_begin_ = sizeof length + length;
    json header = json::parse(text);
    if (!header.is_object()) fail("its header is not an object");
    return header;
  }

  torch::Tensor read_tensor(const std::string& name, const json& entry,
                            std::vector<std::pair<std::uint64_t, std::uint64_t>>& extents) {
    const auto type = dtype(name, entry.at("dtype").get<std::string>());
    const auto shape = entry.at("shape").get<std::vector<std::int64_t>>();
    const auto [begin, end] =
        entry.at("data_offsets").get<std::pair<std::uint64_t, std::uint64_t>>();
    const std::uint64_t available = file_size_ - data_begin_;
    if (begin > end || end > available) fail("tensor '" + name + "' reaches beyond its end");
    if (byte_count(name, shape, c10::elementSize(type)) != end - begin)
      fail("tensor '" + name + "' has a size that does not fit its shape");
    extents.emplace_back(begin, end);
    torch::Tensor tensor = torch::empty(shape, type);
    file_.seekg(static_cast<std::streamoff>(data_begin_ + begin));
    file_.read(static_cast<char*>(tensor.mutable_data_ptr()),
               static_cast<std::streamsize>(end - begin));
    if (!file_) fail("tensor '" + name + "' cannot be read");
    return tensor;
  }

  torch::ScalarType dtype(const std::string& tensor, const std::string& name) const {
    const auto found = std::ranges::find(kDtypes, name, &DtypeName::name);
    if (found == kDtypes.end())
      fail("tensor '" + tensor + "' has the unknown dtype '" + name + "'");
    return found->type;
  }

  std::uint64_t byte_count(const std::string& name, const std::vector<std::int64_t>& shape,
                           std::uint64_t element_bytes) const {
    std::uint64_t bytes = element_bytes;
    for (const std::int64_t extent : shape) {
      if (extent < 0 || (extent > 0 && bytes > std::numeric_limits<std::uint64_t>::max() /
                                                   static_cast<std::uint64_t>(extent)))
        fail("tensor '" + name + "' has an impossible shape");
      bytes *= static_cast<std::uint64_t>(extent);
    }
    return bytes;
  }

  /// The tensors must fill the rest of the file without holes and overlaps, as the format demands.
  void check_extents(std::vector<std::pair<std::uint64_t, std::uint64_t>> extents) const {
    std::ranges::sort(extents);
    std::uint64_t position = 0;
    for (const auto& [begin, end] : extents) {
      if (begin != position) fail("its tensors overlap or leave a hole");
      position = end;
    }
    if (data_begin_ + position != file_size_) fail("it is longer or shorter than its tensors");
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

SafeTensors load_safetensors(const std::filesystem::path& path) {
  Reader reader{path};
  try {
    return reader.read();
  } catch (const json::exception& e) {
    reader.fail(std::string{"its header makes no sense: "} + e.what());
  }
}

}  // namespace ddprun::sdk
