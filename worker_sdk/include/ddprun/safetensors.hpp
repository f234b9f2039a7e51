// Tensors in files of the safetensors format (https://github.com/huggingface/safetensors), which
// Python reads with safetensors.torch.load_file.
//
// The file: 8 bytes, the header's length in little-endian; the header, JSON, from names to dtype,
// shape and place; the tensors' bytes, one after the other.
#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <map>
#include <string>

namespace ddprun::sdk {

struct SafeTensors {
  std::map<std::string, torch::Tensor> tensors;
  std::map<std::string, std::string> metadata;  // the header's "__metadata__"
};

/// The first bytes of the file: the header and its length. After them come the tensors' bytes in
/// the map's order, each contiguous. Errors: std::invalid_argument for a dtype that the format
/// lacks.
std::string safetensors_header(const SafeTensors& contents);

/// Writes atomically (AtomicFile). Tensors on any device, of any strides; dtypes float64, float32,
/// float16, bfloat16, int64, int32, int16, int8, uint8 and bool. Errors: std::invalid_argument for
/// another dtype, std::runtime_error when the file cannot be written.
void save_safetensors(const std::filesystem::path& path, const SafeTensors& contents);

/// Reads all of it into tensors on the CPU. Errors: std::runtime_error, naming the file and what is
/// wrong with it; nothing that a file claims is believed unchecked.
SafeTensors load_safetensors(const std::filesystem::path& path);

}  // namespace ddprun::sdk
