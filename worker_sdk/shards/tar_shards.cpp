#include "ddprun/tar_shards.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "worker_sdk/checkpoint_files/sha256.hpp"
#include "worker_sdk/shards/sample_reader.hpp"
#include "worker_sdk/shards/shard_order.hpp"

namespace ddprun::sdk {

namespace {

using Place = ShardState::Place;

std::size_t bytes_of(const ShardSample& sample) {
  std::size_t bytes = sample.key.size();
  for (const auto& [name, value] : sample.fields) bytes += name.size() + value.size();
  return bytes;
}

bool before(const Place& a, const Place& b) {
  return std::pair{a.shard, a.sample} < std::pair{b.shard, b.sample};
}

}  // namespace

class TarShards::Stream {
 public:
  Stream(std::vector<std::filesystem::path> shards, const TarShardsOptions& options)
      : shards_{std::move(shards)}, options_{options} {
    check_shards(shards_.size(), options);
    begin_epoch(0);
  }

  std::optional<ShardSample> next() {
    while (buffer_.size() < options_.shuffle_buffer &&
           (buffer_.empty() || bytes_ < options_.shuffle_bytes)) {
      auto held = read();
      if (!held) break;
      bytes_ += bytes_of(held->sample);
      buffer_.push_back(*std::move(held));
    }
    if (buffer_.empty()) {
      begin_epoch(epoch_ + 1);
      return std::nullopt;
    }
    std::swap(buffer_[draw()], buffer_.back());
    ShardSample sample = std::move(buffer_.back().sample);
    buffer_.pop_back();
    bytes_ -= bytes_of(sample);
    return sample;
  }

  ShardState state() const {
    ShardState state{epoch_, draws_, next_place(), {}};
    for (const Held& held : buffer_) state.buffer.push_back(held.place);
    return state;
  }

  void resume(const ShardState& state) {
    check(state);
    begin_epoch(state.epoch);
    draws_ = state.draws;
    read_buffer(state.buffer);
    shard_ = static_cast<std::size_t>(state.next.shard);
    if (shard_ == order_.size()) return;
    reader_.emplace(shards_[order_[shard_]], options_);
    if (!reader_->skip_to(state.next.sample)) refuse_short(shard_);
  }

  std::string identity() const {
    Sha256 names;
    for (const auto& shard : shards_) {
      const std::string name = shard.filename().string();
      names.update(name.c_str(), name.size() + 1);
    }
    return std::to_string(shards_.size()) + " shards with names of the hash " +
           names.hex().substr(0, 16) + ", rank " + std::to_string(options_.rank) + " of " +
           std::to_string(options_.world_size) + ", worker " + std::to_string(options_.worker) +
           " of " + std::to_string(options_.workers) +
           (options_.shuffle_shards ? ", shuffled, seed " : ", in order, seed ") +
           std::to_string(options_.seed) + ", a buffer of " +
           std::to_string(options_.shuffle_buffer) + " samples and " +
           std::to_string(options_.shuffle_bytes) + " bytes";
  }

 private:
  struct Held {
    Place place;
    ShardSample sample;
  };

  void begin_epoch(std::int64_t epoch) {
    epoch_ = epoch;
    order_ = shards_of_epoch(shards_.size(), options_, epoch);
    seed_ = seed_of_draws(options_, epoch);
    draws_ = 0;
    shard_ = 0;
    reader_.reset();
    buffer_.clear();
    bytes_ = 0;
  }

  /// Where in the buffer the next sample is.
  std::size_t draw() {
    return options_.shuffle_buffer == 1 ? 0 : drawn(seed_, draws_++) % buffer_.size();
  }

  std::optional<Held> read() {
    for (; shard_ < order_.size(); ++shard_, reader_.reset()) {
      if (!reader_) reader_.emplace(shards_[order_[shard_]], options_);
      const Place place = next_place();
      if (auto sample = reader_->next()) return Held{place, *std::move(sample)};
    }
    return std::nullopt;
  }

  Place next_place() const {
    return {static_cast<std::int64_t>(shard_), reader_ ? reader_->position() : 0};
  }

  void check(const ShardState& state) const {
    const auto streams = static_cast<std::size_t>(options_.world_size) * options_.workers;
    const auto shards = static_cast<std::int64_t>(
        shards_of_epoch(shards_.size(), options_, std::max<std::int64_t>(0, state.epoch)).size());
    const bool in_range = state.epoch >= 0 && state.next.shard >= 0 && state.next.sample >= 0 &&
                          state.next.shard <= shards &&
                          (state.next.shard < shards || state.next.sample == 0);
    const bool read_before = std::ranges::all_of(state.buffer, [&](const Place& place) {
      return place.shard >= 0 && place.sample >= 0 && before(place, state.next);
    });
    if (!in_range || !read_before || state.buffer.size() > options_.shuffle_buffer)
      throw std::invalid_argument{
          "TarShards: a state of epoch " + std::to_string(state.epoch) + ", shard " +
          std::to_string(state.next.shard) + " and " + std::to_string(state.buffer.size()) +
          " samples in the buffer is none of " + std::to_string(shards_.size()) + " shards for " +
          std::to_string(streams) + " streams with a buffer of " +
          std::to_string(options_.shuffle_buffer)};
  }

  /// Reads what was in the buffer, each shard once, and puts it where it was.
  void read_buffer(const std::vector<Place>& places) {
    std::vector<std::size_t> as_they_lie(places.size());
    std::iota(as_they_lie.begin(), as_they_lie.end(), std::size_t{0});
    std::ranges::sort(as_they_lie, before, [&](std::size_t i) { return places[i]; });
    buffer_.resize(places.size());
    std::optional<SampleReader> reader;
    std::int64_t open = -1;
    for (const std::size_t i : as_they_lie) {
      const auto shard = static_cast<std::size_t>(places[i].shard);
      if (places[i].shard != std::exchange(open, places[i].shard))
        reader.emplace(shards_[order_[shard]], options_);
      auto sample = reader->skip_to(places[i].sample) ? reader->next() : std::nullopt;
      if (!sample) refuse_short(shard);
      bytes_ += bytes_of(*sample);
      buffer_[i] = {places[i], *std::move(sample)};
    }
  }

  [[noreturn]] void refuse_short(std::size_t shard) const {
    throw std::runtime_error{"shard '" + shards_[order_[shard]].string() +
                             "' has fewer samples than when the state was saved"};
  }

  std::vector<std::filesystem::path> shards_;
  TarShardsOptions options_;
  std::int64_t epoch_ = 0;
  std::vector<std::size_t> order_;  // this epoch's: numbers of shards
  std::uint64_t seed_ = 0;          // for this epoch's draws
  std::uint64_t draws_ = 0;
  std::size_t shard_ = 0;  // the place in order_ that is read
  std::optional<SampleReader> reader_;
  std::vector<Held> buffer_;
  std::size_t bytes_ = 0;  // in the buffer
};

TarShards::TarShards(std::vector<std::filesystem::path> shards, const TarShardsOptions& options)
    : stream_{std::make_unique<Stream>(std::move(shards), options)} {}
TarShards::~TarShards() = default;
TarShards::TarShards(TarShards&&) noexcept = default;
TarShards& TarShards::operator=(TarShards&&) noexcept = default;

std::optional<ShardSample> TarShards::next() { return stream_->next(); }
ShardState TarShards::state() const { return stream_->state(); }
void TarShards::resume(const ShardState& state) { stream_->resume(state); }
std::string TarShards::identity() const { return stream_->identity(); }

}  // namespace ddprun::sdk
