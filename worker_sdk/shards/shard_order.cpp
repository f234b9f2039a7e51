#include "worker_sdk/shards/shard_order.hpp"

#include <initializer_list>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

namespace ddprun::sdk {

namespace {

/// One number of several, which differs where one of them does. The standard says what seed_seq
/// makes of them, so it is the same everywhere.
std::uint64_t mixed(std::initializer_list<std::uint64_t> numbers) {
  std::vector<std::uint32_t> halves;
  for (const std::uint64_t number : numbers) {
    halves.push_back(static_cast<std::uint32_t>(number));
    halves.push_back(static_cast<std::uint32_t>(number >> 32));
  }
  std::seed_seq sequence(halves.begin(), halves.end());
  std::uint32_t out[2];
  sequence.generate(out, out + 2);
  return std::uint64_t{out[0]} << 32 | out[1];
}

std::string place(int number, int count) {
  return std::to_string(number) + " of " + std::to_string(count);
}

}  // namespace

void check_shards(std::size_t shards, const TarShardsOptions& options) {
  const auto refuse = [](const std::string& what) {
    throw std::invalid_argument{"TarShards: " + what};
  };
  if (options.world_size < 1 || options.rank < 0 || options.rank >= options.world_size)
    refuse("rank " + place(options.rank, options.world_size));
  if (options.workers < 1 || options.worker < 0 || options.worker >= options.workers)
    refuse("worker " + place(options.worker, options.workers));
  if (options.shuffle_buffer < 1) refuse("a shuffle buffer of 0 samples, expected 1 or more");
  const auto streams = static_cast<std::size_t>(options.world_size) * options.workers;
  if (shards < streams)
    refuse(std::to_string(shards) + " shards for " + std::to_string(options.world_size) +
           " ranks of " + std::to_string(options.workers) +
           " workers: each of these needs one of its own; write smaller shards, or take fewer "
           "workers");
}

std::vector<std::size_t> shards_of_epoch(std::size_t shards, const TarShardsOptions& options,
                                         std::int64_t epoch) {
  std::vector<std::size_t> all(shards);
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (options.shuffle_shards) {
    std::mt19937_64 generator{mixed({options.seed, static_cast<std::uint64_t>(epoch)})};
    // Not std::shuffle(), whose order each standard library makes in its own way.
    for (std::size_t i = shards; i > 1; --i) std::swap(all[i - 1], all[generator() % i]);
  }
  std::vector<std::size_t> own;
  const auto streams = static_cast<std::size_t>(options.world_size) * options.workers;
  const auto first = static_cast<std::size_t>(options.worker) * options.world_size + options.rank;
  for (std::size_t i = first; i < shards; i += streams) own.push_back(all[i]);
  return own;
}

std::uint64_t seed_of_draws(const TarShardsOptions& options, std::int64_t epoch) {
  return mixed({options.seed, static_cast<std::uint64_t>(epoch),
                static_cast<std::uint64_t>(options.rank),
                static_cast<std::uint64_t>(options.worker), 1});
}

std::uint64_t drawn(std::uint64_t seed, std::uint64_t draw) {
  std::uint64_t z = seed + (draw + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace ddprun::sdk
