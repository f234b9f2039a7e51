// DevicePrefetcher: copies batches to the GPU while the one before is trained on.
//
// On the GPU the copy of the next batch runs on a stream of its own, beside the training's kernels,
// if the batch lies in pinned memory (LoaderOptions::pin_memory). On the CPU it passes batches on.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <ddprun/batch_tensors.hpp>
#include <ddprun/stateful.hpp>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace ddprun::sdk {

/// The stream that copies to one device. For DevicePrefetcher.
class CopyLane {
 public:
  /// A GPU gets a stream; the CPU needs none.
  explicit CopyLane(torch::Device device);
  ~CopyLane();
  CopyLane(const CopyLane&) = delete;
  CopyLane& operator=(const CopyLane&) = delete;

  /// What says when copies are done: an event of the GPU; null for the CPU.
  struct Mark;
  using Marks = std::shared_ptr<Mark>;

  /// Begins to copy: replaces the tensor by one on the device.
  void copy(torch::Tensor& tensor);
  /// Marks the copies that have been begun.
  Marks mark();
  /// Lets the training's stream wait for what was marked; the CPU does not wait.
  void await(const Marks& marks);
  /// Says that the training's stream uses a tensor that was copied, so that its memory is not given
  /// away before that is done.
  void hand_over(const torch::Tensor& tensor);

 private:
  struct Streams;
  std::unique_ptr<Streams> streams_;
  torch::Device device_;
};

/// The batches of `Source`, which is a DataLoader or ShardLoader or has a next() like theirs, on a
/// device. One thread uses it; it is the one that trains:
///
///     auto loader = make_data_loader(data, sampler.indices(),
///                                    {.batch_size = 32, .pin_memory = true});
///     DevicePrefetcher batches{loader, group.device()};
///     while (auto batch = batches.next()) ...
///
/// It is ahead of the training, and so is its source. The state of a ShardLoader is therefore to be
/// kept by way of this: checkpointer.keep_of_each_rank("data", batches).
template <typename Source>
class DevicePrefetcher : public Stateful {
 public:
  using Batch = typename decltype(std::declval<Source&>().next())::value_type;

  /// `source` must outlive this. `ahead`: how many batches are copied before they are asked for;
  /// not set: one to a GPU, none to the CPU.
  DevicePrefetcher(Source& source, torch::Device device, std::optional<std::size_t> ahead = {})
      : source_{source}, lane_{device}, ahead_{ahead.value_or(device.is_cuda() ? 1 : 0)} {}

  /// Returns the next batch, on the device: the training's stream waits for it, the CPU does not.
  /// nullopt where the source says so. Errors: what the source has thrown for this batch, in its
  /// place.
  std::optional<Batch> next() {
    fill();
    Copied taken = std::move(copied_.front());
    copied_.pop_front();
    if constexpr (std::is_base_of_v<Stateful, Source>) state_ = std::move(taken.state_after);
    if (taken.error) std::rethrow_exception(taken.error);
    if (taken.batch) {
      lane_.await(taken.marks);
      for_each_tensor(*taken.batch, [&](torch::Tensor& tensor) { lane_.hand_over(tensor); });
    }
    return std::move(taken.batch);
  }

  /// The source's state behind the batches that next() has returned. Errors: std::logic_error for a
  /// source that has none; DistributedSampler::state_after() knows the place of a DataLoader.
  std::string save_state() const override {
    if constexpr (std::is_base_of_v<Stateful, Source>) {
      return state_ ? *state_ : source_.save_state();
    }
    throw std::logic_error{"DevicePrefetcher: its source has no state"};
  }

  /// Drops what was copied ahead, and lets the source go on there. Errors: those of the source.
  void restore_state(const std::string& state) override {
    if constexpr (std::is_base_of_v<Stateful, Source>) {
      copied_.clear();
      state_.reset();
      source_.restore_state(state);
    } else {
      throw std::logic_error{"DevicePrefetcher: its source has no state"};
    }
  }

 private:
  struct Copied {
    std::optional<Batch> batch;
    CopyLane::Marks marks;
    std::exception_ptr error;
    std::optional<std::string> state_after;  // the source's, if it has one
  };

  /// An end, or an error, is the last thing that is fetched before it has been delivered.
  void fill() {
    while (copied_.size() <= ahead_ && (copied_.empty() || copied_.back().batch)) {
      Copied one;
      try {
        one.batch = source_.next();
        if (one.batch) {
          for_each_tensor(*one.batch, [&](torch::Tensor& tensor) { lane_.copy(tensor); });
          one.marks = lane_.mark();
        }
      } catch (...) {
        one.batch.reset();
        one.error = std::current_exception();
      }
      if constexpr (std::is_base_of_v<Stateful, Source>) one.state_after = source_.save_state();
      copied_.push_back(std::move(one));
    }
  }

  Source& source_;
  CopyLane lane_;
  std::size_t ahead_;
  std::deque<Copied> copied_;
  std::optional<std::string> state_;  // not set: nothing was taken yet
};

}  // namespace ddprun::sdk
