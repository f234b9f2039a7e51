#include "worker_sdk/distributed_sampler.hpp"

#include <algorithm>
#include <set>

#include "tests/support/catch.hpp"

namespace ddprun::sdk {
namespace {

using Indices = std::vector<std::int64_t>;

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

TEST_CASE("a sampler that makes no sense is refused") {
  CHECK_THROWS_WITH((DistributedSampler{0, 1, 0}), contains("expected one at least"));
  CHECK_THROWS_WITH((DistributedSampler{10, 2, 2}), contains("rank 2, expected 0 to"));
  CHECK_THROWS_WITH((DistributedSampler{10, 2, -1}), contains("rank -1"));
}

}  // namespace
}  // namespace ddprun::sdk
