// JobNews turns what the coordinator says into lines for the user: that the job waits for nodes,
// that a round starts or stops, and why, and what restarts cost. Pure: it writes nothing, and
// decides nothing of the job.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "agent/spec/launch_spec.hpp"
#include "base/clock.hpp"
#include "rendezvous/messages/membership_messages.hpp"
#include "rendezvous/messages/messages.hpp"

namespace ddprun {

/// WaitNote: the note to the user while a job waits for its nodes, and how often it comes.
class WaitNote {
 public:
  /// A wait this short needs no word.
  static constexpr std::chrono::seconds kSilence{3};
  static constexpr std::chrono::seconds kInterval{30};

  /// The line to print now, if it is time for one: after kSilence, when the number of nodes
  /// changes, and every kInterval. `place` is where others join, as HOST:PORT; "": not told.
  std::optional<std::string> next(const Waiting& waiting, const std::string& place, TimePoint now);

 private:
  std::optional<TimePoint> since_;
  std::optional<TimePoint> said_;
  int nodes_ = 0;
};

struct NewsLine {
  enum class Level { kInfo, kWarning };
  Level level = Level::kInfo;
  std::string text;  // without an end
  bool operator==(const NewsLine&) const = default;
};

class JobNews {
 public:
  /// What every node of the job could tell is a warning where the coordinator is, or where nodes do
  /// not share their output, and else no more than information: the user is to read it once.
  JobNews(const LaunchSpec& spec, const RunFacts& run);

  /// The job's coordinator is in this process from now on, or no longer.
  void leads(bool here) { tells_job_ = here || !shares_output_; }
  /// Whether it is this node that tells the user what concerns the whole job.
  bool tells_job() const { return tells_job_; }

  /// The lines that `message`, which came at `now`, is worth; usually none.
  std::vector<NewsLine> of(const CoordinatorMessage& message, TimePoint now);
  /// The line that this node's workers are worth where they are started beside a round, with that
  /// place of the next one.
  NewsLine of_parked(const StartRound& place) const;

 private:
  static NewsLine of_spare(const Spare& spare);
  NewsLine of_job(std::string text) const;
  std::vector<NewsLine> of_waiting(const Waiting& waiting, TimePoint now);
  std::vector<NewsLine> of_times(const Goodput& times) const;
  std::vector<NewsLine> of_start(const StartRound& round);
  std::vector<NewsLine> of_hang(const HangReport& report);
  std::vector<NewsLine> of_debugged(const RanksDebugged& now);

  int workers_;
  int restarts_max_;
  RestartPolicy restarts_;
  std::string place_;  // where the job's nodes meet at its beginning, as HOST:PORT; "": at an etcd
  bool shares_output_;
  bool tells_job_;
  OnHang on_hang_;
  std::optional<int> attempt_;  // the last round had that number; before the first one: none
  bool tells_pause_ = true;     // once before each restart
  bool in_place_ = false;       // workers stay while members of the round change
  std::optional<Straggler> straggler_;  // while it holds up the others, in this round
  RanksDebugged debugged_;              // by the last message
  WaitNote wait_note_;
};

}  // namespace ddprun
