#include "ddprun/distributed_sampler.hpp"

#include <algorithm>
#include <set>

#include "tests/support/catch.hpp"
#include "tests/worker_sdk/data/indices.hpp"

namespace ddprun::sdk {
namespace {

Indices epoch_of(int rank, std::int64_t size, int world_size, const SamplerOptions& options,
                 std::int64_t epoch = 0) {
  DistributedSampler sampler{size, world_size, rank, options};
  sampler.set_epoch(epoch);
  const Indices indices = sampler.indices();
  CHECK(static_cast<std::int64_t>(indices.size()) == sampler.size());
  return indices;
}

TEST_CASE("without shuffle the ranks take turns, and the end is filled up from the beginning") {
  CHECK(epoch_of(0, 7, 3, {.shuffle = false}) == Indices{0, 3, 6});
  CHECK(epoch_of(1, 7, 3, {.shuffle = false}) == Indices{1, 4, 0});
  CHECK(epoch_of(2, 7, 3, {.shuffle = false}) == Indices{2, 5, 1});
}

TEST_CASE("with drop_last the tail is left out") {
  CHECK(epoch_of(0, 7, 3, {.shuffle = false, .drop_last = true}) == Indices{0, 3});
  CHECK(epoch_of(2, 7, 3, {.shuffle = false, .drop_last = true}) == Indices{2, 5});
  CHECK(epoch_of(2, 2, 3, {.drop_last = true}).empty());
}

TEST_CASE("more ranks than samples: samples are repeated as often as needed") {
  CHECK(epoch_of(4, 2, 5, {.shuffle = false}) == Indices{0});
  CHECK(epoch_of(3, 2, 5, {.shuffle = false}) == Indices{1});
}

TEST_CASE("together the ranks see every sample of an epoch exactly once") {
  for (const int world_size : {1, 2, 5, 10}) {
    std::multiset<std::int64_t> seen;
    for (int rank = 0; rank < world_size; ++rank)
      for (const auto i : epoch_of(rank, 100, world_size, {.seed = 3}, 4)) seen.insert(i);
    CHECK(seen.size() == 100);
    CHECK(std::set<std::int64_t>(seen.begin(), seen.end()).size() == 100);
  }
}

TEST_CASE("an epoch has an order of its own, and always the same one") {
  const auto first = epoch_of(0, 100, 2, {.seed = 1}, 0);
  CHECK(first == epoch_of(0, 100, 2, {.seed = 1}, 0));
  CHECK(first != epoch_of(0, 100, 2, {.seed = 1}, 1));
  CHECK(first != epoch_of(0, 100, 2, {.seed = 2}, 0));
}

/// What `world_size` ranks see in `steps` batches of `batch_size`, or to the epoch's end, and where
/// they stand then.
SamplerState go_on(SamplerState from, int world_size, std::int64_t steps, std::int64_t batch_size,
                   bool drop_last, Indices& seen) {
  SamplerState after;
  for (int rank = 0; rank < world_size; ++rank) {
    DistributedSampler sampler{1000, world_size, rank, {.seed = 5, .drop_last = drop_last}};
    sampler.resume(from);
    sampler.set_epoch(from.epoch);
    const Indices mine = sampler.indices();
    CHECK(static_cast<std::int64_t>(mine.size()) == sampler.size());
    const std::int64_t used = std::min(steps * batch_size, sampler.size());
    seen.insert(seen.end(), mine.begin(), mine.begin() + used);
    after = sampler.state_after(used);
  }
  return after;
}

TEST_CASE("an epoch goes on with other numbers of workers, and every sample comes exactly once") {
  Indices seen;
  SamplerState state{3, 0};
  state = go_on(state, 4, 10, 8, false, seen);
  CHECK(state == SamplerState{3, 320});
  state = go_on(state, 2, 17, 10, false, seen);
  CHECK(state == SamplerState{3, 660});
  state = go_on(state, 3, 1000, 8, false, seen);
  CHECK(state == SamplerState{3, 1000});
  CHECK(seen.size() == 1002);  // 340 samples for 3 ranks: 114 each, so two come twice
  CHECK(std::set<std::int64_t>(seen.begin(), seen.end()).size() == 1000);
  CHECK(go_on(state, 3, 1000, 8, false, seen) == state);  // nothing is left of it
  CHECK(seen.size() == 1002);
}

TEST_CASE("with drop_last nothing comes twice, and less than a world's worth is left out") {
  Indices seen;
  SamplerState state = go_on({3, 0}, 4, 10, 8, true, seen);
  state = go_on(state, 3, 1000, 8, true, seen);
  CHECK(seen.size() == 998);
  CHECK(std::set<std::int64_t>(seen.begin(), seen.end()).size() == 998);
  CHECK(state == SamplerState{3, 1000});
}

TEST_CASE("the rest of an epoch is in the order of the whole epoch") {
  const auto whole = epoch_of(0, 100, 1, {.seed = 1}, 2);
  DistributedSampler sampler{100, 1, 0, {.seed = 1}};
  sampler.resume({2, 30});
  CHECK(sampler.indices() == Indices(whole.begin() + 30, whole.end()));
}

TEST_CASE("only the epoch that was interrupted begins in its middle") {
  DistributedSampler sampler{100, 2, 0};
  sampler.resume({2, 30});
  sampler.set_epoch(2);
  CHECK(sampler.size() == 35);
  sampler.set_epoch(3);
  CHECK(sampler.size() == 50);
  CHECK(sampler.state_after(10) == SamplerState{3, 20});
}

TEST_CASE("a position that makes no sense is refused") {
  DistributedSampler sampler{100, 2, 0};
  CHECK_THROWS_WITH(sampler.resume({0, 101}), contains("after 101 samples of 100"));
  CHECK_THROWS_WITH(sampler.resume({0, -1}), contains("after -1"));
  CHECK_THROWS_WITH(sampler.resume({-1, 0}), contains("in epoch -1"));
  CHECK_THROWS_WITH(sampler.state_after(51), contains("expected 0 to 50"));
}

TEST_CASE("a sampler that makes no sense is refused") {
  CHECK_THROWS_WITH((DistributedSampler{0, 1, 0}), contains("expected one at least"));
  CHECK_THROWS_WITH((DistributedSampler{10, 2, 2}), contains("rank 2, expected 0 to"));
  CHECK_THROWS_WITH((DistributedSampler{10, 2, -1}), contains("rank -1"));
}

}  // namespace
}  // namespace ddprun::sdk
