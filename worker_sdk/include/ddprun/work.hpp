// Work: an operation of a process group that may still be running.
//
// It is the handle that torch.distributed's asynchronous operations return
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

/// An operation has failed between the ranks: a peer is gone, or did not come in time. what() names
/// the operation, the group, the rank and the tensor, and gives the backend's reason. The group
/// cannot be used any more: destroy it, and end the process or initialise again.
class CommunicationError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An operation's description, for messages: `all_reduce on group "default" (rank 1 of 4), float32
/// [3, 4]`.
struct Operation {
  std::string name;   // the function that the program has called
  std::string group;  // the group's name
  int rank = 0;       // this worker's in the group
  int size = 1;       // the group's
  std::vector<torch::Tensor> tensors = {};

  /// Returns the text above.
  std::string describe() const;

  /// Throws std::invalid_argument "<describe()>: <reason>".
  [[noreturn]] void refuse(const std::string& reason) const;

  /// Calls `act`, which waits for peers. Errors: what LibTorch throws comes out as
  /// CommunicationError.
  void guard(const std::function<void()>& act) const;

  /// Calls `act`, which begins the operation, and returns what it returns. Errors: what LibTorch
  /// says about the arguments comes out as std::invalid_argument, the rest as CommunicationError.
  c10::intrusive_ptr<c10d::Work> start(
      const std::function<c10::intrusive_ptr<c10d::Work>()>& act) const;
};

/// The handle of an operation; copies are handles of the same one. It keeps the operation's tensors
/// alive, and the program must not touch them before wait() has returned. Used by one thread at a
/// time.
class Work {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /// ProcessGroup makes it. The first wait() calls `finish` when the backend is done.
  Work(Operation operation, c10::intrusive_ptr<c10d::Work> work, std::function<void()> finish = {});

  /// Returns when the result is there; with NCCL, when the current stream will wait for it. A
  /// `timeout` of 0 means the group's own. Errors: CommunicationError when a peer is gone or the
  /// time is over.
  void wait(Milliseconds timeout = Milliseconds{0}) const;

  /// Returns true when wait() would return, or throw, at once. It never blocks.
  bool is_completed() const;

  /// Returns the rank in the group that has sent what a recv() from any source got. Call it after
  /// wait().
  int source_rank() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Calls wait() on all of them, in turn. Errors: that of the first one that fails.
void wait_all(const std::vector<Work>& works);

}  // namespace ddprun::sdk
