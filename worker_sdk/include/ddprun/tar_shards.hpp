// TarShards: data sets that are too big for memory, and too many files for a disk, in tar files.
//
// It reads what WebDataset writes (https://github.com/webdataset/webdataset): files that follow one
// another in a shard and share their name up to its first dot are one sample, and what is behind
// that dot names its fields. "n01440764/10026.jpg" and "n01440764/10026.cls" are the fields "jpg"
// and "cls" of the sample "n01440764/10026". Shards may be gzipped. Needs no LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ddprun::sdk {

/// One sample: its fields' bytes, by what the files' names end in, in lower case.
struct ShardSample {
  std::string key;
  std::map<std::string, std::string> fields;
};

/// How shards are dealt out and shuffled. All ranks have the same but for `rank` and `worker`.
struct TarShardsOptions {
  int rank = 0;  // one of `world_size` workers of the job
  int world_size = 1;
  int worker = 0;  // one of `workers` streams of this rank, such as a loader's threads
  int workers = 1;
  bool shuffle_shards = true;  // else they come in the order in which they are given
  std::uint64_t seed = 0;      // decides, with the epoch, on all orders
  /// Samples are drawn from a buffer of this many; with 1 they come as they lie in their shards.
  std::size_t shuffle_buffer = 1;
  std::size_t shuffle_bytes = std::size_t{1} << 30;  // the buffer is not filled beyond that
  std::size_t field_bytes_max = std::size_t{256} << 20;
  std::size_t fields_max = 64;  // in a sample
};

/// A place in the samples of one stream. TarShards gives and takes it.
struct ShardState {
  /// A sample: its shard, as a number in the stream's order of the epoch, and its number therein.
  struct Place {
    std::int64_t shard = 0;
    std::int64_t sample = 0;
    bool operator==(const Place&) const = default;
  };
  std::int64_t epoch = 0;
  std::uint64_t draws = 0;         // from the buffer, in this epoch
  Place next = {};                 // to be read
  std::vector<Place> buffer = {};  // samples that were read, and not yet drawn
  bool operator==(const ShardState&) const = default;
};

/// The samples of this stream's shards, epoch after epoch. In the order of the epoch, shard i is
/// one of the rank i modulo world_size, and there of the worker i / world_size modulo workers: each
/// shard is read by one stream. Ranks may have different numbers of samples, which
/// DistributedDataParallel::join() is for.
///
/// It has one shard open at a time. Used by one thread.
class TarShards {
 public:
  /// Errors: std::invalid_argument for options that make no sense, or fewer shards than streams.
  TarShards(std::vector<std::filesystem::path> shards, const TarShardsOptions& options);
  ~TarShards();
  TarShards(TarShards&&) noexcept;
  TarShards& operator=(TarShards&&) noexcept;

  /// Returns the next sample; nullopt at the end of an epoch, after which the next one begins.
  /// Errors: std::runtime_error, naming shard and entry: a file that cannot be read, is not tar or
  /// ends early, a field that comes twice, and what is beyond a limit. The stream cannot go on
  /// then.
  std::optional<ShardSample> next();

  /// Where it stands after what next() has returned.
  ShardState state() const;

  /// Goes on where a stream with the same shards and options stood: the same samples come in the
  /// same order. It reads those of the buffer again. Errors: std::invalid_argument for a state that
  /// cannot be of these shards; those of next().
  void resume(const ShardState& state);

  /// What must be the same to go on from a state: shards' names (their folders may change), ranks,
  /// workers and the options of shuffling, as text.
  std::string identity() const;

 private:
  class Stream;
  std::unique_ptr<Stream> stream_;
};

/// Returns the paths that a pattern with numbers in braces stands for, as WebDataset writes them:
/// "train-{000000..000146}.tar" is 147 paths. A pattern may have several of these, and lists, such
/// as {train,more}. Errors: std::invalid_argument for braces without an end, and for more than a
/// million paths or 64 MiB of them.
std::vector<std::filesystem::path> expand_shards(const std::string& pattern);

}  // namespace ddprun::sdk
