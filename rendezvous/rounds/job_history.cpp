#include "rendezvous/rounds/job_history.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

namespace {

template <typename T>
void drop_oldest(std::vector<T>& list, std::size_t count_max) {
  if (list.size() > count_max) list.erase(list.begin());
}

/// The time of day at `when`, if it is `now_unix_ms` at `now`.
std::int64_t unix_ms(TimePoint when, TimePoint now, std::int64_t now_unix_ms) {
  return now_unix_ms - std::chrono::duration_cast<std::chrono::milliseconds>(now - when).count();
}

}  // namespace

void JobHistory::sealed(int round, int attempt, int nodes, int world_size, TimePoint now) {
  const int last = rounds_.empty() ? 0 : rounds_.back().round.round;
  std::erase_if(losses_, [&](const Loss& loss) { return loss.round < last; });
  rounds_.push_back(
      {{.round = round, .attempt = attempt, .nodes = nodes, .world_size = world_size}, now, {}});
  drop_oldest(rounds_, kStatusRoundsMax);
  reason_.clear();
  hang_.reset();
  running_ = true;
}

void JobHistory::stopped(const StopRound& order, TimePoint now,
                         const std::optional<HangReport>& hang) {
  if (!running_) return;
  ended(now);
  reason_ = order.reason;
  hang_ = hang;
  rounds_.back().round.reason = order.reason;
  rounds_.back().round.in_place = order.keep;
}

void JobHistory::ended(TimePoint now) {
  if (std::exchange(running_, false)) rounds_.back().ended = now;
}

void JobHistory::lost(NodeStatus node, TimePoint now) {
  node.state = NodeStatus::State::kLost;
  losses_.push_back({std::move(node), now, rounds_.empty() ? 0 : rounds_.back().round.round});
  drop_oldest(losses_, kLossesMax);
}

void JobHistory::came(const std::string& host) {
  std::erase_if(losses_, [&](const Loss& loss) { return loss.node.host == host; });
}

void JobHistory::add_point(PointStatus point, TimePoint now) {
  next_point_ = now + point_interval_;
  points_.push_back({point, now});
  if (points_.size() <= kStatusPointsMax) return;
  std::vector<Point> fewer;
  for (std::size_t i = 0; i < points_.size(); i += 2) fewer.push_back(points_[i]);
  points_ = std::move(fewer);
  point_interval_ *= 2;
}

void JobHistory::tell(JobStatus& status, TimePoint now) const {
  const auto time_of_day = [&](TimePoint when) { return unix_ms(when, now, status.now_unix_ms); };
  status.began_unix_ms = time_of_day(began_);
  status.hang = hang_;
  for (const Record& record : rounds_) {
    status.rounds.push_back(record.round);
    status.rounds.back().began_unix_ms = time_of_day(record.began);
    if (record.ended) status.rounds.back().ended_unix_ms = time_of_day(*record.ended);
  }
  for (const Loss& loss : losses_) {
    status.nodes.push_back(loss.node);
    const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now - loss.when);
    status.nodes.back().silent_ms = since.count();
  }
  for (const Point& point : points_) {
    status.history.push_back(point.point);
    status.history.back().unix_ms = time_of_day(point.when);
  }
}

}  // namespace ddprun
