// A model of synchronous training, for tests of late ranks: it says when each rank enters the
// collectives of each step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rendezvous/messages/straggler.hpp"

namespace ddprun {

/// A training in which each step has `buckets` collectives, one millisecond apart, after what a
/// rank computes by itself.
class TrainingModel {
 public:
  using Compute = std::function<std::int64_t(int rank, int step)>;  // microseconds
  TrainingModel(int ranks, Compute compute, int buckets = 3)
      : ranks_{ranks}, compute_{std::move(compute)}, buckets_{buckets} {}

  /// Trains on that many steps.
  void train(int steps) {
    for (int i = 0; i < steps; ++i, ++step_) {
      std::vector<std::int64_t> at;
      for (int rank = 0; rank < ranks_; ++rank) at.push_back(now_us_ + compute_(rank, step_));
      const std::int64_t all_are_there = *std::ranges::max_element(at);
      for (int bucket = 0; bucket < buckets_; ++bucket)
        for (int rank = 0; rank < ranks_; ++rank)
          entered_[rank].push_back(at[rank] + 1'000 * bucket);
      now_us_ = all_are_there + 1'000 * buckets_;
    }
  }

  /// The last collectives of a rank, as its agent tells them.
  GroupArrivals told(int rank, std::string group = "0") const {
    const std::vector<std::int64_t>& all = entered_.at(rank);
    const std::size_t count = std::min(all.size(), kGroupArrivalsMax);
    const std::size_t begin = all.size() - count;
    GroupArrivals told{std::move(group), static_cast<std::int64_t>(begin) + 1, all[begin], {}};
    for (std::size_t i = begin + 1; i < all.size(); ++i)
      told.pauses_us.push_back(all[i] - all[i - 1]);
    return told;
  }

  std::int64_t now_us() const { return now_us_; }

 private:
  int ranks_;
  Compute compute_;
  int buckets_;
  int step_ = 0;
  std::int64_t now_us_ = 1'000'000;
  std::map<int, std::vector<std::int64_t>> entered_;
};

}  // namespace ddprun
