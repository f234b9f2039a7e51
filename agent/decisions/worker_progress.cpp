#include "agent/decisions/worker_progress.hpp"

#include <chrono>
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
  const std::int64_t look = worker.arrivals.look / kArrivalsEvery.count();
  if (look % (1 + world_size_ / kArrivalsToldMax) != 0) return;
  Arrivals told = worker.arrivals;
  told.round = round_;
  agent_.tell(std::move(told));
}

}  // namespace ddprun
