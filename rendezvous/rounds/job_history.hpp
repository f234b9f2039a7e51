// JobHistory keeps what a job's status tells of the past: the rounds so far, the nodes that were
// lost, and the curves of loss and speed. Pure.
//
// Each list has a limit. Of rounds and losses the oldest go; of the curves' points every second one
// goes, and from then on they are taken half as often, so that they always span the whole time.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/job_status.hpp"
#include "rendezvous/messages/round_messages.hpp"

namespace ddprun {

class JobHistory {
 public:
  static constexpr std::size_t kLossesMax = 16;

  /// A job that begins at `now`.
  explicit JobHistory(TimePoint now) : began_{now} {}

  /// A round has been sealed. Nodes that were lost in earlier rounds but the last one, or whose
  /// place has been taken, are shown no more.
  void sealed(int round, int attempt, int nodes, int world_size, TimePoint now);

  /// The round is to stop. `hang` is that of its workers, which is shown until the next round.
  void stopped(const StopRound& order, TimePoint now,
               const std::optional<HangReport>& hang = std::nullopt);
  /// The job has ended: where its last round was not stopped, well.
  void ended(TimePoint now);

  /// A node was lost. It tells of itself what it was.
  void lost(NodeStatus node, TimePoint now);
  /// A node of that host is there.
  void came(const std::string& host);

  /// Whether it is time for another point of the curves.
  bool wants_point(TimePoint now) const { return points_.empty() || now >= next_point_; }
  /// Adds a point: the job was at `step` then.
  void add_point(PointStatus point, TimePoint now);

  /// Why the last round was stopped; "": it was not.
  const std::string& reason() const { return reason_; }

  /// Adds what it keeps to `status`, which was made at `now`; its now_unix_ms is that time of day.
  void tell(JobStatus& status, TimePoint now) const;

 private:
  struct Record {
    RoundStatus round;
    TimePoint began;
    std::optional<TimePoint> ended;
  };
  struct Loss {
    NodeStatus node;
    TimePoint when;
    int round;
  };
  struct Point {
    PointStatus point;
    TimePoint when;
  };

  TimePoint began_;
  std::vector<Record> rounds_;
  std::vector<Loss> losses_;
  std::vector<Point> points_;
  TimePoint next_point_;
  std::chrono::milliseconds point_interval_{500};
  std::string reason_;
  std::optional<HangReport> hang_;
  bool running_ = false;
};

}  // namespace ddprun
