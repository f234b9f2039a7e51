// ElasticLoader: the batches of a data set without an end, dealt out to as many workers as there
// are. ElasticRun keeps it.
//
//     auto loader = make_elastic_loader(data, {.global_batch = 256, .seed = 7, .workers = 2});
//     run.keep("data", loader);
//     ... const auto batch = world.next(loader); ...
#pragma once

#include <algorithm>
#include <cstdint>
#include <ddprun/batches.hpp>
#include <ddprun/data_loader.hpp>
#include <ddprun/elastic_batches.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::sdk {

/// What BatchesOptions and LoaderOptions have.
struct ElasticLoaderOptions {
  std::int64_t local_batch = 0;
  std::int64_t global_batch = 0;
  std::int64_t micro_batch = 0;
  std::uint64_t seed = 0;
  bool shuffle = true;
  int workers = 1;
  int prefetch = 2;
  bool pin_memory = false;
};

/// This worker's batches, from behind the last counted step on. Its text is the place there,
/// whatever was read ahead. One thread uses it.
template <typename Batch>
class ElasticLoader : public ElasticBatches {
 public:
  using Fetch = typename DataLoader<Batch>::Fetch;

  /// Errors: those of Batches and DataLoader.
  ElasticLoader(std::int64_t size, Fetch fetch, const ElasticLoaderOptions& options)
      : batches_{size,
                 {.local_batch = options.local_batch,
                  .global_batch = options.global_batch,
                  .micro_batch = options.micro_batch,
                  .seed = options.seed,
                  .shuffle = options.shuffle}},
        fetch_{std::move(fetch)},
        options_{.batch_size = 1,
                 .workers = options.workers,
                 .prefetch = options.prefetch,
                 .pin_memory = options.pin_memory} {
    check_options(options_, tensors_are_known<Batch>());
  }

  /// Returns the next batch. The first call starts the threads. Errors: std::logic_error where a
  /// step has passed and was not counted; what fetching has thrown, in the batch's place.
  Batch next() {
    if (given_ == batches_.parts())
      throw std::logic_error{"ElasticLoader: a step has had all its batches, and was not counted"};
    const std::int64_t number = given_++;
    if (!loader_) read_ahead(number);
    auto batch = loader_->next();
    if (!batch) {
      read_ahead(number);
      batch = loader_->next();
    }
    return *std::move(batch);
  }

  void deal(int rank, int world_size) override {
    batches_.deal(rank, world_size);
    begin_anew();
  }

  void count_step() override {
    if (given_ != batches_.parts()) loader_.reset();  // batches that were not taken are left out
    batches_.count_step();
    given_ = 0;
  }

  std::int64_t parts() const override { return batches_.parts(); }
  std::int64_t samples_of_worker() const override {
    return batches_.parts() * batches_.samples_in_part();
  }
  std::int64_t epoch() const override { return batches_.epoch(); }
  std::string save_state() const override { return batches_.save_state(); }
  void restore_state(const std::string& state) override {
    batches_.restore_state(state);
    begin_anew();
  }

 private:
  void begin_anew() {
    loader_.reset();
    given_ = 0;
  }

  /// At least this many batches are read ahead with the same threads. At the end of an epoch, or
  /// with a small data set, threads would otherwise be started for each batch and never be ahead.
  static constexpr std::int64_t kBatchesAheadMin = 16;

  /// Reads from batch `number` behind the last counted step on, to about the end of the epoch.
  void read_ahead(std::int64_t number) {
    const std::int64_t of_all = batches_.samples_in_step() / batches_.parts();
    const std::int64_t end = std::max(number + kBatchesAheadMin, batches_.left_in_epoch() / of_all);
    std::vector<std::int64_t> indices;
    for (std::int64_t part = number; part < end; ++part) {
      const auto of_part = batches_.part(part);
      indices.insert(indices.end(), of_part.begin(), of_part.end());
    }
    options_.batch_size = batches_.samples_in_part();
    loader_.emplace(std::move(indices), fetch_, options_);
  }

  Batches batches_;
  Fetch fetch_;
  LoaderOptions options_;
  std::int64_t given_ = 0;  // batches that next() has returned behind the last counted step
  std::optional<DataLoader<Batch>> loader_;
};

/// How many samples a data set has. Errors: std::bad_optional_access for one of torch::data that
/// does not know.
template <typename DataSet>
std::int64_t sample_count(const DataSet& data) {
  const auto size = data.size();
  if constexpr (requires { size.value(); })
    return static_cast<std::int64_t>(size.value());
  else
    return size;
}

/// Returns a loader of a data set that make_fetch() knows. Errors: those of ElasticLoader.
template <typename DataSet>
auto make_elastic_loader(const DataSet& data, const ElasticLoaderOptions& options) {
  return ElasticLoader<BatchOf<DataSet>>{sample_count(data), make_fetch(data), options};
}

}  // namespace ddprun::sdk
