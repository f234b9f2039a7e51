#include "ddprun/batches.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "worker_sdk/data/epoch_order.hpp"

namespace ddprun::sdk {

namespace {

using nlohmann::json;

/// A data set with one sample can have that many, and steps can be counted behind them.
constexpr std::int64_t kEpochsMax = std::int64_t{1} << 62;

[[noreturn]] void refuse(const std::string& sentence) {
  throw std::invalid_argument{"Batches: " + sentence};
}

std::int64_t number_in(const json& state, const char* name) {
  const auto found = state.find(name);
  if (found == state.end() || !found->is_number_integer() || *found < 0)
    refuse("the place in the data is " + state.dump() + ", expected epoch, consumed and size");
  return found->get<std::int64_t>();
}

}  // namespace

Batches::Batches(std::int64_t size, const BatchesOptions& options)
    : size_{size}, options_{options} {
  if ((options.local_batch == 0) == (options.global_batch == 0))
    refuse("expected local_batch, for each worker, or global_batch, for all: one of the two");
  if (size < 1) refuse("size is " + std::to_string(size) + ", expected 1 or more");
  for (const auto& [name, number] : {std::pair{"local_batch", options.local_batch},
                                     std::pair{"global_batch", options.global_batch},
                                     std::pair{"micro_batch", options.micro_batch}})
    if (number < 0) refuse(name + (" is " + std::to_string(number)) + ", expected 1 or more");
  deal(0, 1);
}

void Batches::deal(int rank, int world_size) {
  if (rank < 0 || rank >= world_size)
    refuse("rank " + std::to_string(rank) + ", expected 0 to " + std::to_string(world_size - 1));
  const std::int64_t samples =
      options_.local_batch > 0 ? options_.local_batch : options_.global_batch / world_size;
  if (samples == 0)
    refuse("global_batch is " + std::to_string(options_.global_batch) + ", which gives some of " +
           std::to_string(world_size) + " workers no sample: expected " +
           std::to_string(world_size) + " or more");
  const std::int64_t most = options_.micro_batch > 0 ? options_.micro_batch : samples;
  parts_ = (samples + most - 1) / most;
  samples_ = samples / parts_;
  rank_ = rank;
  world_size_ = world_size;
}

std::vector<std::int64_t> Batches::part(std::int64_t number) {
  const std::int64_t begin = used_ + number * samples_ * world_size_;
  std::vector<std::int64_t> found;
  found.reserve(static_cast<std::size_t>(samples_));
  for (std::int64_t place = begin + rank_; place < begin + samples_ * world_size_;
       place += world_size_)
    found.push_back(order_of(place / size_)[static_cast<std::size_t>(place % size_)]);
  return found;
}

const std::vector<std::int64_t>& Batches::order_of(std::int64_t epoch) {
  const auto known = orders_.find(epoch);
  if (known != orders_.end()) return known->second;
  // A part may begin in the epoch before.
  std::erase_if(orders_, [&](const auto& order) { return order.first != epoch - 1; });
  return orders_[epoch] =
             options_.shuffle ? shuffled_epoch(size_, options_.seed, epoch) : ordered_epoch(size_);
}

std::string Batches::save_state() const {
  return json{{"epoch", epoch()}, {"consumed", used_ % size_}, {"size", size_}}.dump();
}

void Batches::restore_state(const std::string& state) {
  const json place = json::parse(state, nullptr, /*allow_exceptions=*/false);
  if (!place.is_object()) refuse("'" + state + "' is no place in a data set");
  const std::int64_t epoch = number_in(place, "epoch");
  const std::int64_t consumed = number_in(place, "consumed");
  const std::int64_t size = number_in(place, "size");
  if (size != size_ || consumed > size)
    refuse("the place in the data is sample " + std::to_string(consumed) + " of " +
           std::to_string(size) + ", and this data set has " + std::to_string(size_) + " samples");
  if (epoch > kEpochsMax / size)
    refuse("the place in the data is in epoch " + std::to_string(epoch) +
           ", which no training reaches");
  used_ = used_before_ = epoch * size + consumed;
}

}  // namespace ddprun::sdk
