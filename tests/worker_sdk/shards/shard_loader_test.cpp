// Batches out of shards, by threads.

#include "ddprun/shard_loader.hpp"

#include "tests/support/catch.hpp"
#include "tests/worker_sdk/shards/shards_fixture.hpp"

namespace ddprun::sdk {
namespace {

using Loader = ShardLoader<Numbers>;

Numbers decode(const std::vector<ShardSample>& samples) {
  Numbers batch;
  for (const ShardSample& sample : samples) batch.push_back(number_of(sample));
  return batch;
}

std::vector<Numbers> epoch_of(Loader& loader) {
  std::vector<Numbers> batches;
  while (auto batch = loader.next()) batches.push_back(*std::move(batch));
  return batches;
}

TEST_CASE("one thread's batches are its stream's samples") {
  const NumberedShards files{4, 7};
  for (const bool drop_last : {false, true}) {
    Loader loader{files.paths(),
                  decode,
                  {.shards = {.shuffle_buffer = 5}, .batch_size = 5, .drop_last = drop_last}};
    TarShards stream{files.paths(), {.shuffle_buffer = 5}};
    for (int epoch = 0; epoch < 3; ++epoch) {
      Numbers expected = numbers(stream);
      if (drop_last) expected.resize(25);
      Numbers seen;
      for (const Numbers& batch : epoch_of(loader)) {
        CHECK((batch.size() == 5 || (!drop_last && batch.size() == 3)));
        seen.insert(seen.end(), batch.begin(), batch.end());
      }
      CHECK(seen == expected);
    }
  }
}

TEST_CASE("threads take turns, until each has had its last batch") {
  const NumberedShards files{5, 6};  // 3, 1 and 1 for three threads, in some order
  Loader loader{
      files.paths(), decode, {.shards = {.shuffle_shards = false}, .batch_size = 4, .workers = 3}};
  // Thread 0 has the shards 0 and 3, thread 1 has 1 and 4, thread 2 has 2.
  const std::vector<Numbers> expected{{0, 1, 2, 3},     {6, 7, 8, 9},     {12, 13, 14, 15},
                                      {4, 5, 18, 19},   {10, 11, 24, 25}, {16, 17},
                                      {20, 21, 22, 23}, {26, 27, 28, 29}};
  CHECK(epoch_of(loader) == expected);
  CHECK(epoch_of(loader) == expected);
}

TEST_CASE("a loader goes on behind the last batch that was delivered, whatever was read ahead") {
  const NumberedShards files{7, 5};
  const ShardLoaderOptions options{
      .shards = {.seed = 2, .shuffle_buffer = 6}, .batch_size = 3, .workers = 3, .prefetch = 4};
  Loader whole{files.paths(), decode, options};
  const std::vector<Numbers> first = epoch_of(whole), second = epoch_of(whole);
  CHECK(first != second);
  for (std::size_t used = 0; used <= first.size(); ++used) {
    Loader interrupted{files.paths(), decode, options};
    for (std::size_t i = 0; i < used; ++i) CHECK(interrupted.next() == first[i]);
    Loader resumed{files.paths(), decode, options};
    resumed.next();  // its threads are running
    resumed.restore_state(interrupted.save_state());
    CHECK(resumed.save_state() == interrupted.save_state());
    for (std::size_t i = used; i < first.size(); ++i) CHECK(resumed.next() == first[i]);
    CHECK(resumed.next() == std::nullopt);
    CHECK(epoch_of(resumed) == second);
  }
}

TEST_CASE("a state of other shards or threads is refused, with both") {
  const NumberedShards files{4, 2};
  Loader loader{files.paths(), decode, {.workers = 2}};
  Loader more{files.paths(), decode, {.workers = 3}};
  CHECK_THROWS_WITH(loader.restore_state(more.save_state()),
                    contains("worker 0 of 3") && contains("worker 0 of 2"));
  Loader other_seed{files.paths(), decode, {.shards = {.seed = 8}, .workers = 2}};
  CHECK_THROWS_WITH(loader.restore_state(other_seed.save_state()), contains("seed 8"));
  CHECK_THROWS_WITH(loader.restore_state("{}"), contains("this is no state"));
  CHECK_THROWS_WITH(loader.restore_state("x"), contains("this is no state"));
}

TEST_CASE("what a thread throws comes in its batch's place, and again") {
  const NumberedShards files{2, 4};
  Loader loader{files.paths(),
                [](const std::vector<ShardSample>& samples) {
                  if (number_of(samples[0]) == 6) throw std::runtime_error{"sample 6 is broken"};
                  return decode(samples);
                },
                {.shards = {.shuffle_shards = false}, .batch_size = 2, .workers = 2}};
  CHECK(loader.next() == Numbers{0, 1});
  CHECK(loader.next() == Numbers{4, 5});
  CHECK(loader.next() == Numbers{2, 3});
  CHECK_THROWS_WITH(loader.next(), "sample 6 is broken");
  CHECK_THROWS_WITH(loader.next(), "sample 6 is broken");
}

TEST_CASE("a loader that is left early stops its threads") {
  const NumberedShards files{4, 50};
  for (int i = 0; i < 10; ++i) {
    Loader loader{files.paths(), decode, {.workers = 4}};
    if (i % 2 == 0) CHECK(loader.next().has_value());
  }
}

TEST_CASE("options of a loader that make no sense are refused") {
  CHECK_THROWS_WITH((Loader{{"a"}, decode, {.batch_size = 0}}), contains("batch size 0"));
  CHECK_THROWS_WITH((Loader{{"a"}, decode, {.workers = 0}}), contains("0 workers"));
  CHECK_THROWS_WITH((Loader{{"a"}, decode, {.prefetch = 0}}), contains("0 batches ahead"));
  CHECK_THROWS_WITH((Loader{{"a"}, decode, {.workers = 2}}), contains("1 shards for 1 ranks of 2"));
}

}  // namespace
}  // namespace ddprun::sdk
