// Work: an operation of a process group that may still be running.
//
// The handle of torch.distributed's asynchronous operations
// (https://docs.pytorch.org/docs/stable/distributed.html#synchronous-and-asynchronous-collective-operations).
#pragma once

#include <torch/torch.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

namespace ddprun::sdk {

/// An operation that went wrong between the ranks: a peer is gone, or did not come in time. what()
/// names the operation, the group, the rank and the tensor, and gives the backend's reason. The
/// group cannot be used any more: destroy it, and end, or initialise again.
class CommunicationError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What an operation is, for messages: `all_reduce on group "default" (rank 1 of 4), float32 [3,
/// 4]`.
struct Operation {
  std::string name;
  std::string group;
  int rank = 0;
  int size = 1;
  std::vector<torch::Tensor> tensors = {};

  std::string describe() const;
  /// Errors: throws std::invalid_argument "<describe()>: <reason>".
  [[noreturn]] void refuse(const std::string& reason) const;
  /// Calls `act`, which waits for peers; what LibTorch throws there comes out as
  /// CommunicationError.
  void guard(const std::function<void()>& act) const;
  /// Calls `act`, which begins the operation; what LibTorch does not like about the arguments comes
  /// out as std::invalid_argument, the rest as CommunicationError.
  c10::intrusive_ptr<c10d::Work> start(
      const std::function<c10::intrusive_ptr<c10d::Work>()>& act) const;
};

/// Copies are handles of the same operation. The tensors of the operation are kept alive by it and
/// must not be touched before wait() has returned. One thread at a time.
class Work {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /// Made by ProcessGroup. `finish` runs in the first wait(), after the backend is done.
  Work(Operation operation, c10::intrusive_ptr<c10d::Work> work, std::function<void()> finish = {});

  /// Returns when the result is there (with NCCL: when the current stream will wait for it). 0 is
  /// the group's own timeout. Errors: CommunicationError when a peer is gone or the time is over.
  void wait(Milliseconds timeout = Milliseconds{0}) const;

  /// True when wait() would return, or throw, at once. Never blocks.
  bool is_completed() const;

  /// Who sent what a recv() from any source got, as a rank of the group; only after wait().
  int source_rank() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// wait() on all of them, in turn.
void wait_all(const std::vector<Work>& works);

}  // namespace ddprun::sdk
