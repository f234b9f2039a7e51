// Batches epoch after epoch, and going on behind any of them.

#include "ddprun/epoch_loader.hpp"

#include <algorithm>

#include "ddprun/device_prefetcher.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker_sdk/data/indices.hpp"

namespace ddprun::sdk {
namespace {

using Epochs = EpochLoader<Indices>;

constexpr std::int64_t kSamples = 23;

DistributedSampler sampler_of(int rank, int world_size) {
  return {kSamples, world_size, rank, {.seed = 7}};
}

/// What is left of the epoch, batch after batch.
template <typename Source>
Indices rest_of_epoch(Source& source) {
  Indices all;
  while (const auto batch = source.next()) all.insert(all.end(), batch->begin(), batch->end());
  return all;
}

Indices sorted(Indices all) {
  std::ranges::sort(all);
  return all;
}

TEST_CASE("each epoch has the sampler's samples, in another order") {
  for (const int workers : {0, 2}) {
    Epochs loader{sampler_of(0, 1), same, {.batch_size = 4, .workers = workers}};
    CHECK(loader.batches_per_epoch() == 6);
    DistributedSampler sampler = sampler_of(0, 1);
    for (int epoch = 0; epoch < 3; ++epoch) {
      sampler.set_epoch(epoch);
      CHECK(loader.epoch() == epoch);
      CHECK(rest_of_epoch(loader) == sampler.indices());
    }
  }
}

TEST_CASE("a loader goes on behind any batch, whatever was read ahead") {
  const LoaderOptions options{.batch_size = 4, .workers = 2, .prefetch = 3};
  for (int done = 0; done <= 14; ++done) {
    CAPTURE(done);
    Epochs before{sampler_of(1, 2), same, options};
    for (int i = 0; i < done; ++i) next_batch(before);
    Epochs after{sampler_of(1, 2), same, options};
    after.restore_state(before.save_state());
    CHECK(after.save_state() == before.save_state());
    for (int i = 0; i < 8; ++i) CHECK(next_batch(after) == next_batch(before));
  }
}

TEST_CASE("a loader that has begun goes back, too, and drops what was read ahead") {
  Epochs loader{sampler_of(0, 1), same, {.batch_size = 4, .workers = 2}};
  const std::string begin = loader.save_state();
  const Indices first = next_batch(loader);
  next_batch(loader);
  loader.restore_state(begin);
  CHECK(next_batch(loader) == first);
}

TEST_CASE("behind a prefetcher the place is that of the batches that were taken") {
  Epochs loader{sampler_of(0, 1), same, {.batch_size = 4}};
  DevicePrefetcher batches{loader, torch::kCPU, 2};
  next_batch(batches);
  const std::string place = batches.save_state();
  CHECK(loader.save_state() != place);
  Epochs after{sampler_of(0, 1), same, {.batch_size = 4}};
  after.restore_state(place);
  CHECK(rest_of_epoch(after) == rest_of_epoch(batches));
}

TEST_CASE("another number of workers takes what the ones before have left of the epoch") {
  Indices seen;
  std::string place;
  for (int rank = 0; rank < 2; ++rank) {
    Epochs loader{sampler_of(rank, 2), same, {.batch_size = 2}};
    for (int i = 0; i < 2; ++i) {
      const Indices batch = next_batch(loader);
      seen.insert(seen.end(), batch.begin(), batch.end());
    }
    place = loader.save_state();
  }
  for (int rank = 0; rank < 3; ++rank) {
    Epochs loader{sampler_of(rank, 3), same, {.batch_size = 2}};
    loader.restore_state(place);
    const Indices rest = rest_of_epoch(loader);
    seen.insert(seen.end(), rest.begin(), rest.end());
  }
  CHECK(sorted(seen) == up_to(kSamples));
}

TEST_CASE("a batch that could not be fetched is passed over, and not asked for again") {
  const auto broken = [](const Indices& batch) {
    if (batch.front() == 2) throw std::runtime_error{"this one is broken"};
    return batch;
  };
  const DistributedSampler in_order{8, 1, 0, {.shuffle = false}};
  Epochs loader{in_order, broken, {.batch_size = 2}};
  CHECK(loader.next() == Indices{0, 1});
  CHECK_THROWS_WITH(loader.next(), "this one is broken");
  Epochs after{in_order, broken, {.batch_size = 2}};
  after.restore_state(loader.save_state());
  CHECK(after.next() == Indices{4, 5});
}

TEST_CASE("a tail that is dropped is no batch of the epoch, also after a restart") {
  const LoaderOptions options{.batch_size = 5, .drop_last = true};
  Epochs loader{sampler_of(0, 1), same, options};
  CHECK(loader.batches_per_epoch() == 4);
  for (int i = 0; i < 4; ++i) loader.next();
  Epochs after{sampler_of(0, 1), same, options};
  after.restore_state(loader.save_state());
  CHECK_FALSE(after.next());
  CHECK(after.epoch() == 1);
}

TEST_CASE("what makes no sense is refused with a sentence") {
  CHECK_THROWS_WITH((Epochs{sampler_of(0, 2), same, {.batch_size = 13, .drop_last = true}}),
                    "EpochLoader: an epoch has 12 samples for each rank, and a batch takes 13");
  CHECK_THROWS_WITH((Epochs{sampler_of(0, 2), same, {.batch_size = 0}}), contains("batch size 0"));
  Epochs loader{sampler_of(0, 1), same, {}};
  for (const char* text : {"", "7", "{}", R"({"epoch": "x", "consumed": 0})"})
    CHECK_THROWS_WITH(loader.restore_state(text), contains("no place in a data set"));
  CHECK_THROWS_WITH(loader.restore_state(R"({"epoch": 0, "consumed": 24})"),
                    contains("after 24 samples of 23"));
  CHECK(loader.epoch() == 0);
}

struct Empty {
  std::optional<Indices> next() { return std::nullopt; }
};

TEST_CASE("a step does not wait for ever for a batch that never comes") {
  Empty empty;
  CHECK_THROWS_WITH(next_batch(empty), "next_batch: a whole epoch has no batch");
}

}  // namespace
}  // namespace ddprun::sdk
