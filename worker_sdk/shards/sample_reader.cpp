#include "worker_sdk/shards/sample_reader.hpp"

namespace ddprun::sdk {

SampleReader::SampleReader(const std::filesystem::path& shard, const TarShardsOptions& options)
    : reader_{shard}, options_{options} {
  find_entry();
}

void SampleReader::find_entry() {
  found_.reset();
  while (!found_) {
    const auto name = reader_.next();
    if (!name) return;
    found_ = split_entry_name(*name);
  }
}

std::optional<ShardSample> SampleReader::next() {
  if (!found_) return std::nullopt;
  ShardSample sample{found_->key, {}};
  while (found_ && found_->key == sample.key) {
    if (sample.fields.size() == options_.fields_max)
      reader_.fail("its sample has more than " + std::to_string(options_.fields_max) + " fields");
    if (sample.fields.contains(found_->field)) reader_.fail("its sample has this field already");
    sample.fields.emplace(found_->field, reader_.read(options_.field_bytes_max));
    find_entry();
  }
  ++position_;
  return sample;
}

bool SampleReader::skip_to(std::int64_t sample) {
  while (position_ < sample && found_) {
    const std::string key = found_->key;
    while (found_ && found_->key == key) find_entry();
    ++position_;
  }
  return position_ == sample;
}

}  // namespace ddprun::sdk
