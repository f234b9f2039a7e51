#include "ddprun/token_files.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace ddprun::sdk {

namespace {

namespace fs = std::filesystem;

void check(const std::vector<fs::path>& files, const TokenFilesOptions& options) {
  if (files.empty()) throw std::invalid_argument{"TokenFiles: no files"};
  if (options.window < 1)
    throw std::invalid_argument{"TokenFiles: a window of " + std::to_string(options.window) +
                                " tokens, expected 1 or more"};
  if (options.dtype != torch::kUInt8 && options.dtype != torch::kUInt16 &&
      options.dtype != torch::kInt32)
    throw std::invalid_argument{std::string{"TokenFiles: dtype "} + c10::toString(options.dtype) +
                                ", expected Byte, UInt16 or Int"};
}

/// All tokens of a file, which stay on the disk until they are read.
torch::Tensor map_file(const fs::path& path, torch::ScalarType dtype) {
  std::error_code error;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path, error));
  if (error) throw std::runtime_error{"token file '" + path.string() + "': " + error.message()};
  const auto size = static_cast<std::int64_t>(c10::elementSize(dtype));
  if (bytes % size != 0)
    throw std::runtime_error{"token file '" + path.string() + "' has " + std::to_string(bytes) +
                             " bytes, not a multiple of " + std::to_string(size)};
  if (bytes == 0) return torch::empty({0}, dtype);
  try {
    return torch::from_file(path.string(), /*shared=*/false, bytes / size, dtype);
  } catch (const c10::Error& e) {
    throw std::runtime_error{"token file '" + path.string() + "': " + e.what_without_backtrace()};
  }
}

}  // namespace

TokenFiles::TokenFiles(const std::vector<fs::path>& files, const TokenFilesOptions& options)
    : window_{options.window}, begins_{0} {
  check(files, options);
  for (const fs::path& file : files) {
    files_.push_back(map_file(file, options.dtype));
    // The last target of a window is the first input of the next one.
    const std::int64_t windows = std::max<std::int64_t>(0, files_.back().numel() - 1) / window_;
    begins_.push_back(begins_.back() + windows);
  }
  if (size() == 0)
    throw std::invalid_argument{"TokenFiles: no file has the " + std::to_string(window_ + 1) +
                                " tokens of a window and its targets"};
}

torch::Tensor TokenFiles::window(std::int64_t number) const {
  if (number < 0 || number >= size())
    throw std::out_of_range{"TokenFiles: window " + std::to_string(number) + " of " +
                            std::to_string(size())};
  const auto next = std::ranges::upper_bound(begins_, number);
  const std::int64_t in_file = number - *std::prev(next);
  const torch::Tensor& file = files_[static_cast<std::size_t>(next - begins_.begin()) - 1];
  return file.narrow(0, in_file * window_, window_ + 1).to(torch::kInt64);
}

TokenBatch TokenFiles::get_batch(const std::vector<std::size_t>& windows) const {
  std::vector<torch::Tensor> rows;
  for (const std::size_t number : windows)
    rows.push_back(window(static_cast<std::int64_t>(number)));
  const torch::Tensor tokens = torch::stack(rows);
  return {tokens.narrow(1, 0, window_).contiguous(), tokens.narrow(1, 1, window_).contiguous()};
}

}  // namespace ddprun::sdk
