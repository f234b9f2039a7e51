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

/// What is in a file.
struct SafeTensors {
  std::map<std::string, torch::Tensor> tensors = {};
  std::map<std::string, std::string> metadata = {};  // from "__metadata__" of the header
};

/// Returns the first bytes of the file: the header's length and the header. After them come the
/// tensors' bytes in the map's order, each contiguous. Errors: std::invalid_argument for a dtype
/// that the format lacks.
std::string safetensors_header(const SafeTensors& contents);

/// Writes a file that is there completely or not at all, also after a power failure. The tensors
/// may be on any device and have any strides; their dtypes are float64, float32, float16, bfloat16,
/// int64, int32, int16, int8, uint8 and bool. Errors: std::invalid_argument for another dtype, and
/// for more than 100,000 tensors or 16 MiB of header; std::runtime_error when the file cannot be
/// written.
void save_safetensors(const std::filesystem::path& path, const SafeTensors& contents);

/// Returns the file's tensors, on the CPU. They stay in the file, which is mapped: its pages are
/// read when they are used, and all processes of a machine share them. What is written to a tensor
/// does not get into the file. The file must not change in its place while the tensors live;
/// save_safetensors() puts another one there. It checks all that the file claims before it
/// believes it, and takes no more tensors and no longer header than save_safetensors(). Errors:
/// std::runtime_error, naming the file and what is wrong with it.
SafeTensors load_safetensors(const std::filesystem::path& path);

}  // namespace ddprun::sdk
