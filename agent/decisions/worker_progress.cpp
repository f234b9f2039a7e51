#include "agent/decisions/worker_progress.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <utility>

namespace ddprun {

void WorkerProgress::begin_round(int round, int world_size) {
  round_ = round;
  world_size_ = world_size;
  untold_.clear();
  last_.clear();
}

void WorkerProgress::note(const RankProgress& progress, TimePoint now) {
  untold_[progress.rank] = last_[progress.rank] = {progress, now};
}

void WorkerProgress::tell(TimePoint now) {
  Progress message{round_, {}};
  for (auto& [rank, seen] : untold_) {
    const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now - seen.at);
    seen.progress.still_ms += since.count();
    if (seen.progress.first_ms >= 0) seen.progress.first_ms += since.count();
    message.ranks.push_back(std::move(seen.progress));
    if (message.ranks.size() < kProgressRanksMax) continue;
    agent_.tell(std::exchange(message, Progress{round_, {}}));
  }
  if (!message.ranks.empty()) agent_.tell(std::move(message));
  untold_.clear();
}

void WorkerProgress::arrived(const WorkerArrived& worker) {
  // Looks are at multiples of a power of two seconds, so that all nodes take the same ones.
  const int workers = std::max(world_size_, kArrivalsPerSecond);
  const auto seconds = std::bit_floor(static_cast<std::uint64_t>(workers / kArrivalsPerSecond));
  if (static_cast<std::uint64_t>(worker.arrivals.look) % seconds != 0) return;
  Arrivals told = worker.arrivals;
  told.round = round_;
  agent_.tell(std::move(told));
}

}  // namespace ddprun
