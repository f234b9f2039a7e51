// TokenFiles: text as numbers, in files that are too big for memory.
//
// A file has nothing but tokens, one after the other, as nanoGPT's prepare.py writes them
// (https://github.com/karpathy/nanoGPT): numpy.array(tokens, numpy.uint16).tofile("train.bin"). Any
// file is one of bytes. Files are mapped: pages are read when a window of them is asked for, and
// all workers of a machine share them.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace ddprun::sdk {

/// What a language model learns from: to each token of `inputs` the next one.
struct TokenBatch {
  torch::Tensor inputs;   // [N, window] int64
  torch::Tensor targets;  // [N, window] int64

  template <typename Act>
  void for_each_tensor(const Act& act) {
    act(inputs);
    act(targets);
  }
};

struct TokenFilesOptions {
  std::int64_t window = 1024;                // tokens that a model sees at once, at least 1
  torch::ScalarType dtype = torch::kUInt16;  // the type in the files: kUInt8, kUInt16 or kInt32
};

/// The files' windows, in their order. Windows of a file lie side by side, so each token is a
/// target once; what is left of a file after the last whole window is passed over.
///
/// With DistributedSampler each rank gets its share of them, shuffled, and goes on in the middle of
/// an epoch, also with another number of workers; with make_data_loader() threads read ahead:
///
///     DistributedSampler sampler{tokens.size(), group.size(), group.rank()};
///     auto loader = make_data_loader(tokens, sampler.indices(), {.batch_size = 8});
///     for (const TokenBatch& batch : loader) ...
///
/// Copies share the mapping. Any number of threads may read.
class TokenFiles {
 public:
  /// Errors: std::invalid_argument for options that make no sense or files without a whole window;
  /// std::runtime_error for a file that cannot be mapped, or that ends within a token. Files must
  /// not become shorter afterwards.
  TokenFiles(const std::vector<std::filesystem::path>& files, const TokenFilesOptions& options);

  /// How many windows there are.
  std::int64_t size() const { return begins_.back(); }

  /// Copies windows out, in that order. Errors: std::out_of_range.
  TokenBatch get_batch(const std::vector<std::size_t>& windows) const;

 private:
  torch::Tensor window(std::int64_t number) const;

  std::int64_t window_;
  std::vector<torch::Tensor> files_;
  std::vector<std::int64_t> begins_;  // files_[i] has the windows from begins_[i] to begins_[i + 1]
};

}  // namespace ddprun::sdk
