// DataLoader: batches that threads fetch ahead, in an order that does not depend on the threads.
//
// It does with threads what torch.utils.data.DataLoader does with num_workers and prefetch_factor
// (https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading).
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <ddprun/batch_tensors.hpp>
#include <ddprun/labelled_images.hpp>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace ddprun::sdk {

/// How batches are made.
struct LoaderOptions {
  std::int64_t batch_size = 1;  // samples in a batch, at least 1
  int workers = 1;              // threads that fetch; 0: the caller's fetches when it asks
  int prefetch = 2;             // batches that each thread may be ahead of the caller, at least 1
  bool drop_last = false;       // leaves out a last batch that is smaller than the others
  /// Puts batches into page-locked memory, from which DevicePrefetcher copies them to the GPU while
  /// the CPU goes on. The threads work with the GPU that is current on the thread which makes the
  /// loader. Without a GPU it does nothing.
  bool pin_memory = false;
};

/// Throws std::invalid_argument for options that make no sense, or that ask for pinned memory for
/// batches whose tensors are not known: see batch_tensors.hpp.
void check_options(const LoaderOptions& options, bool tensors_known);

/// How many batches `samples` samples are.
std::int64_t count_batches(std::int64_t samples, const LoaderOptions& options);

/// Makes one pass over `indices`, usually DistributedSampler::indices(). One thread uses it:
///
///     auto loader = make_data_loader(data, sampler.indices(), {.batch_size = 32});
///     for (const LabelledImages& batch : loader) ...
template <typename Batch>
class DataLoader {
 public:
  /// Makes a batch of the samples with these indices. Every thread calls its own copy of it.
  using Fetch = std::function<Batch(const std::vector<std::int64_t>& indices)>;

  /// Starts the threads, which begin to fetch. Errors: std::invalid_argument for options that make
  /// no sense.
  DataLoader(std::vector<std::int64_t> indices, const Fetch& fetch, const LoaderOptions& options)
      : indices_{std::move(indices)}, options_{options}, fetch_{fetch} {
    check_options(options, tensors_are_known<Batch>());
    batches_ = count_batches(static_cast<std::int64_t>(indices_.size()), options);
    slots_.resize(std::max(1, options.workers * options.prefetch));
    if (options.pin_memory) gpu_ = current_gpu();
    for (int i = 0; i < options.workers; ++i) threads_.emplace_back([this, fetch] { work(fetch); });
  }

  /// Waits for batches that are being fetched, and drops those that were not asked for.
  ~DataLoader() {
    {
      const std::lock_guard lock{mutex_};
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  /// How many batches there are in all.
  std::int64_t size() const { return batches_; }

  /// How many samples next() has delivered, with those that an error came for.
  std::int64_t samples_delivered() const {
    return std::min(delivered_ * options_.batch_size, static_cast<std::int64_t>(indices_.size()));
  }

  /// Returns the next batch in order; nullopt after the last one. Errors: what `fetch` has thrown
  /// for this batch; the next call goes on with the batch after it.
  std::optional<Batch> next() {
    if (delivered_ == batches_) return std::nullopt;
    if (threads_.empty()) return pinned(fetch_(indices_of(delivered_++)));
    std::unique_lock lock{mutex_};
    Slot& slot = slots_[delivered_ % slots_.size()];
    changed_.wait(lock, [&] { return slot.ready; });
    Slot taken = std::exchange(slot, {});
    ++delivered_;
    lock.unlock();
    changed_.notify_all();
    if (taken.error) std::rethrow_exception(taken.error);
    return std::move(taken.batch);
  }

  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(DataLoader* loader) : loader_{loader} { ++*this; }
    Batch& operator*() { return *batch_; }
    Iterator& operator++() {
      batch_ = loader_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !batch_.has_value(); }

   private:
    DataLoader* loader_;
    std::optional<Batch> batch_;
  };
  Iterator begin() { return Iterator{this}; }
  std::default_sentinel_t end() const { return {}; }

 private:
  struct Slot {
    bool ready = false;
    std::optional<Batch> batch;
    std::exception_ptr error;
  };

  Batch pinned(Batch batch) const {
    if constexpr (tensors_are_known<Batch>())
      if (gpu_) for_each_tensor(batch, [](torch::Tensor& tensor) { pin(tensor); });
    return batch;
  }

  std::vector<std::int64_t> indices_of(std::int64_t number) const {
    const auto begin = indices_.begin() + number * options_.batch_size;
    return {begin, begin + std::min<std::int64_t>(options_.batch_size, indices_.end() - begin)};
  }

  /// Runs in each thread: it takes the batches in order, and only those that have a free slot.
  void work(const Fetch& fetch) {
    use_gpu(gpu_);
    std::unique_lock lock{mutex_};
    for (;;) {
      changed_.wait(lock, [&] {
        return stopping_ || begun_ == batches_ ||
               begun_ < delivered_ + static_cast<std::int64_t>(slots_.size());
      });
      if (stopping_ || begun_ == batches_) return;
      const std::int64_t number = begun_++;
      lock.unlock();
      Slot done{.ready = true, .batch = std::nullopt, .error = nullptr};
      try {
        done.batch = pinned(fetch(indices_of(number)));
      } catch (...) {
        done.error = std::current_exception();
      }
      lock.lock();
      slots_[number % slots_.size()] = std::move(done);
      changed_.notify_all();
    }
  }

  std::vector<std::int64_t> indices_;
  LoaderOptions options_;
  Fetch fetch_;
  std::int64_t batches_ = 0;
  std::optional<torch::Device> gpu_;  // that memory is pinned for

  std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  std::vector<Slot> slots_;  // batch n goes to slot n modulo their number
  std::int64_t begun_ = 0;
  std::int64_t delivered_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// Returns what fetches batches of any data set of torch::data
/// (https://docs.pytorch.org/cppdocs/api/namespace_torch__data.html), mapped or not. Each thread
/// has its own copy of the data set, as with torch::data's own loader.
template <typename DataSet>
requires requires(DataSet data, std::vector<std::size_t> indices) { data.get_batch(indices); }
auto make_fetch(DataSet data) {
  return [data](const std::vector<std::int64_t>& wanted) mutable {
    return data.get_batch(std::vector<std::size_t>(wanted.begin(), wanted.end()));
  };
}

/// Returns one for images in memory, which the threads share.
inline auto make_fetch(const LabelledImages& data) {
  return [data](const std::vector<std::int64_t>& wanted) {
    return data.select(torch::tensor(wanted, torch::kInt64));
  };
}

/// What a batch of a data set is.
template <typename DataSet>
using BatchOf = std::invoke_result_t<decltype(make_fetch(std::declval<DataSet>())),
                                     const std::vector<std::int64_t>&>;

/// Returns a loader of a data set that make_fetch() knows. Errors: those of DataLoader.
template <typename DataSet>
auto make_data_loader(const DataSet& data, std::vector<std::int64_t> indices,
                      const LoaderOptions& options) {
  return DataLoader<BatchOf<DataSet>>{std::move(indices), make_fetch(data), options};
}

}  // namespace ddprun::sdk
