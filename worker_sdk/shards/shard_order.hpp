// Which shards a stream reads in an epoch, in which order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddprun/tar_shards.hpp"

namespace ddprun::sdk {

/// Throws std::invalid_argument for options that make no sense for this number of shards.
void check_shards(std::size_t shards, const TarShardsOptions& options);

/// The numbers of this stream's shards, in the order of the epoch. check_shards() has been called.
std::vector<std::size_t> shards_of_epoch(std::size_t shards, const TarShardsOptions& options,
                                         std::int64_t epoch);

/// What decides on the draws of this stream in this epoch.
std::uint64_t seed_of_draws(const TarShardsOptions& options, std::int64_t epoch);

/// The random number `draw` of that seed, without those before it: SplitMix64
/// (https://prng.di.unimi.it/splitmix64.c).
std::uint64_t drawn(std::uint64_t seed, std::uint64_t draw);

}  // namespace ddprun::sdk
