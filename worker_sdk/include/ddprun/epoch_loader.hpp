// EpochLoader: the batches of a data set, epoch after epoch, with a place that checkpoints hold.
//
// It is a DistributedSampler and the DataLoader of its epoch in one. torchdata's StatefulDataLoader
// is its like in Python (https://meta-pytorch.org/data/beta/stateful_dataloader_tutorial.html).
#pragma once

#include <cstdint>
#include <ddprun/data_loader.hpp>
#include <ddprun/distributed_sampler.hpp>
#include <ddprun/stateful.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace ddprun::sdk {

/// A sampler's place as text, and back. Errors of the second: std::invalid_argument for a text that
/// is none.
std::string to_text(const SamplerState& state);
SamplerState parse_sampler_state(const std::string& text);

/// Throws std::invalid_argument when the samples of a rank are no batch.
void require_a_batch(std::int64_t batches, std::int64_t samples, const LoaderOptions& options);

/// This rank's batches. All ranks have the same place, so one of them is kept:
///
///     auto loader = make_epoch_loader(data, {data.size(), group.size(), group.rank()},
///                                     {.batch_size = 32, .pin_memory = true});
///     DevicePrefetcher batches{loader, group.device()};
///     checkpointer.keep("data", batches);                // what was trained on, not what was read
///     ... checkpointer.load_latest(*model, optimizer) ...
///     while (auto batch = batches.next()) ...            // one epoch, or what is left of it
///
/// A training that counts steps takes next_batch(batches), which goes on into the next epoch. A job
/// with another number of workers goes on behind the same samples. One thread uses it.
template <typename Batch>
class EpochLoader : public Stateful {
 public:
  using Fetch = typename DataLoader<Batch>::Fetch;

  /// Errors: those of DataLoader; std::invalid_argument when an epoch has no batch.
  EpochLoader(DistributedSampler sampler, Fetch fetch, const LoaderOptions& options)
      : sampler_{std::move(sampler)}, fetch_{std::move(fetch)}, options_{options} {
    check_options(options, tensors_are_known<Batch>());
    batches_ = count_batches(sampler_.size(), options);
    require_a_batch(batches_, sampler_.size(), options);
  }

  /// How many batches a whole epoch has.
  std::int64_t batches_per_epoch() const { return batches_; }

  /// The epoch that the next batch is of, from 0.
  std::int64_t epoch() const { return sampler_.state_after(0).epoch; }

  /// Returns the next batch; nullopt at the end of an epoch, after which the next one begins. The
  /// first call starts the threads. Errors: what fetching has thrown, in the batch's place.
  std::optional<Batch> next() {
    if (!loader_) loader_.emplace(sampler_.indices(), fetch_, options_);
    auto batch = loader_->next();
    if (!batch) {
      loader_.reset();
      sampler_.set_epoch(epoch() + 1);
    }
    return batch;
  }

  /// The place behind the batches that next() has returned, whatever was read ahead.
  std::string save_state() const override {
    return to_text(sampler_.state_after(loader_ ? loader_->samples_delivered() : 0));
  }

  /// Goes on there. Errors: std::invalid_argument for a text that is none, or a place that is none
  /// of this data set.
  void restore_state(const std::string& state) override {
    sampler_.resume(parse_sampler_state(state));
    loader_.reset();
  }

 private:
  DistributedSampler sampler_;
  Fetch fetch_;
  LoaderOptions options_;
  std::int64_t batches_ = 0;
  std::optional<DataLoader<Batch>> loader_;  // this epoch's, once it has begun
};

/// Returns a loader of a data set that make_fetch() knows. Errors: those of EpochLoader.
template <typename DataSet>
auto make_epoch_loader(const DataSet& data, DistributedSampler sampler,
                       const LoaderOptions& options) {
  return EpochLoader<BatchOf<DataSet>>{std::move(sampler), make_fetch(data), options};
}

/// Returns the next batch of an EpochLoader, a ShardLoader or a DevicePrefetcher of one: of the
/// next epoch where this one has ended. Errors: those of next(); std::runtime_error for an epoch
/// without a batch.
template <typename Source>
auto next_batch(Source& source) {
  auto batch = source.next();
  if (!batch) batch = source.next();
  if (!batch) throw std::runtime_error{"next_batch: a whole epoch has no batch"};
  return *std::move(batch);
}

}  // namespace ddprun::sdk
