// StateCourier: carries a state from one member of a group to all others of it.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ddprun/process_group.hpp"
#include "ddprun/safetensors.hpp"
#include "worker_sdk/checkpoint_files/sha256.hpp"

namespace ddprun::sdk {

/// A header, as a safetensors file has it, says what there is, and then the bytes of all tensors
/// come in pieces. Both sides hash a piece while the next one travels, so that their digests can be
/// compared before anything is loaded.
class StateCourier {
 public:
  /// `root` is the rank in `group` that has the state.
  StateCourier(const ProcessGroup& group, int root) : group_{group}, root_{root} {}

  /// All members call it; the root alone gives a state. Returns the state, with its tensors in the
  /// memory of the host; on the root it is what was given. Errors: CommunicationError;
  /// std::runtime_error for a header that makes no sense.
  SafeTensors carry(SafeTensors state);

  /// Returns the SHA-256 of all that was carried. Call it once.
  std::string digest() { return hash_.hex(); }

 private:
  struct Sizes {
    std::size_t header;
    std::int64_t data;
  };
  bool sends() const { return group_.rank() == root_; }
  Sizes carry_sizes(const SafeTensors& state) const;
  std::string carry_header(std::string header);
  void carry_bytes(const std::vector<torch::Tensor>& flats);
  void broadcast(const torch::Tensor& tensor) const;

  const ProcessGroup& group_;
  int root_;
  Sha256 hash_;
};

/// Returns the SHA-256 of a state.
std::string digest_of(const SafeTensors& state);

}  // namespace ddprun::sdk
