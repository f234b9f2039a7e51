// SampleReader: the samples in one shard.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "ddprun/tar_shards.hpp"
#include "worker_sdk/shards/entry_name.hpp"
#include "worker_sdk/shards/tar_reader.hpp"

namespace ddprun::sdk {

/// Puts files together that follow one another and have one key. Errors of all functions: those of
/// TarReader, and of a sample with a field twice or more fields than allowed.
class SampleReader {
 public:
  SampleReader(const std::filesystem::path& shard, const TarShardsOptions& options);

  /// The next sample; nullopt at the end.
  std::optional<ShardSample> next();

  /// Passes samples over, without reading their files, until next() would return the one of this
  /// number, the first being 0. It only goes forward. Returns whether the shard has that many.
  bool skip_to(std::int64_t sample);

  /// The number of the sample that next() would return.
  std::int64_t position() const { return position_; }

 private:
  void find_entry();

  TarReader reader_;
  TarShardsOptions options_;
  std::optional<EntryName> found_;  // the first entry of the next sample, not yet read
  std::int64_t position_ = 0;
};

}  // namespace ddprun::sdk
