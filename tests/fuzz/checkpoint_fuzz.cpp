// Fuzzes what is read of a checkpoint: the manifest, and the header of a safetensors file. The
// first byte of the input says which of the two it is; of a header, the second how many bytes
// follow it.
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/fuzz/require.hpp"
#include "worker_sdk/checkpoint_files/checkpoint_manifest.hpp"
#include "worker_sdk/checkpoint_files/sha256.hpp"
#include "worker_sdk/checkpoint_files/tensor_table.hpp"

namespace {

using namespace ddprun;
using namespace ddprun::sdk;

/// The same manifest with the checksum that it should have, which no fuzzer finds.
std::string with_checksum(const std::string& text) {
  auto manifest = nlohmann::json::parse(text, nullptr, false);
  if (!manifest.is_object()) return text;
  manifest.erase("manifest_sha256");
  const std::string without = manifest.dump();
  Sha256 sha256;
  sha256.update(without.data(), without.size());
  manifest["manifest_sha256"] = sha256.hex();
  return manifest.dump();
}

void check_manifest(const std::string& text) try {
  const CheckpointManifest manifest = decode_manifest(text);
  require(decode_manifest(encode(manifest)) == manifest);
  for (const CheckpointFile& file : manifest.files) {
    require(file.name.find('/') == std::string::npos && file.name != ".." && file.name != ".");
    require(file.name.find('\0') == std::string::npos && file.sha256.size() == 64);
  }
} catch (const std::runtime_error& e) {
  require(std::string_view{e.what()}.size() < 1000);
}

void check_table(const std::string& header, std::uint64_t data_bytes) try {
  const TensorTable table = parse_tensor_table(header, data_bytes);
  std::uint64_t bytes = 0;
  for (const auto& [name, entry] : table.tensors) {
    require(entry.begin <= entry.end && entry.end <= data_bytes);
    bytes += entry.end - entry.begin;
  }
  require(bytes == data_bytes);
} catch (const std::runtime_error& e) {
  require(std::string_view{e.what()}.size() < 1000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string text{reinterpret_cast<const char*>(data) + 2, size - 2};
  if (data[0] % 2 == 0) {
    check_manifest(text);
    check_manifest(with_checksum(text));
  } else {
    check_table(text, data[1]);
  }
  return 0;
}
