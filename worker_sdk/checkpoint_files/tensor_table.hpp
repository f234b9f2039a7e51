// TensorTable: what the header of a safetensors file says of the tensors behind it
// (https://github.com/huggingface/safetensors, "Format"). The file may come from anywhere, so
// nothing is believed unchecked, and a header costs no more memory than a few times its length.
// Needs no LibTorch. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::sdk {

/// One tensor: bytes `begin` to `end` of what follows the header.
struct TensorEntry {
  std::string dtype;  // "F32": one of those that element_bytes() knows
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool operator==(const TensorEntry&) const = default;
};

struct TensorTable {
  std::map<std::string, TensorEntry> tensors;
  std::map<std::string, std::string> metadata;  // from "__metadata__" of the header
};

/// The length of the header, before it in little-endian.
inline constexpr std::size_t kHeaderLengthBytes = 8;

// What is more is refused. A model of 70 billion parameters has about a thousand tensors, and a
// header of 100 kB.
inline constexpr std::uint64_t kHeaderBytesMax = 16 * 1024 * 1024;
inline constexpr std::size_t kTensorsMax = 100'000;  // and notes in its metadata
inline constexpr std::size_t kDimensionsMax = 64;

/// Returns how many bytes an element of a dtype has; 0 for one that the SDK does not have.
std::uint64_t element_bytes(std::string_view dtype);

/// Checks the length of a header as the file claims it. `file_bytes` is the size of the whole file.
/// Errors: std::runtime_error: the header would be longer than the file, or than kHeaderBytesMax.
void check_header_length(std::uint64_t claimed, std::uint64_t file_bytes);

/// Reads a header, behind which `data_bytes` follow. Errors: std::runtime_error that says what is
/// wrong: it is not the JSON that the format has, a name is there twice, a dtype is unknown, a
/// tensor's place does not fit its shape or lies outside the file, or tensors overlap or leave a
/// hole.
TensorTable parse_tensor_table(std::string_view header, std::uint64_t data_bytes);

}  // namespace ddprun::sdk
