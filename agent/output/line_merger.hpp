// LineMerger: shows lines that many workers of a node say alike once, with the ranks that said
// them. Pure: it takes each line and the time, and returns what to show.
//
// Lines wait in one queue, in the order in which they were first said. A rank that says a line that
// waits already, behind its own last one, joins it. The first line of the queue is shown when all
// have joined it, or when it has waited for kWindow. So the lines of a rank stay in their order,
// and a rank that says something else shows after kWindow. While workers start they are further
// apart: for kStart, a line waits for kStartWindow if somebody has not said anything yet.
//
// A rank that is late says what others have been shown with. That is not shown again but told:
// "(the same 120 lines as others, up to 1.3 s later)". Only a few lines that are very late, when a
// reader no longer knows which ones are meant, are shown as they are.
//
// Memory is bounded: a rank that is far ahead of others is not heard for a moment. When too much
// waits anyway, the first lines of the queue are shown before their time, and of what was shown
// only the last is remembered.
#pragma once

#include <algorithm>
#include <boost/container/flat_set.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/output/line_shape.hpp"
#include "base/clock.hpp"

namespace ddprun {

/// A line of a worker, or a piece of one.
struct SaidLine {
  bool err = false;   // on standard error
  std::string text;   // without its end
  std::string end;    // "\n", "\r\n", "\r" of a progress bar, or "" when it is not finished
  std::string stamp;  // when it was said, for people; shown before the line, and not compared
};

/// What is to be shown.
struct FoldedLine {
  std::vector<int> ranks;        // its speakers in the job, ascending
  std::vector<int> local_ranks;  // its speakers on this node
  SaidLine line;
  bool operator==(const FoldedLine&) const;
};

class LineMerger {
 public:
  static constexpr std::chrono::milliseconds kWindow{200};  // for others to say the same
  static constexpr std::chrono::milliseconds kStartWindow{1000};
  static constexpr std::chrono::seconds kStart{3};          // from the first line of all
  static constexpr std::chrono::milliseconds kPause{500};   // a late rank's run ends after it
  static constexpr std::chrono::seconds kRunMax{5};         // then an unfinished run is shown
  static constexpr std::chrono::seconds kRemembered{15};    // so late a line is still a late one
  static constexpr std::size_t kWaitingLinesMax = 20'000;   // in the queue
  static constexpr std::size_t kWaitingBytesMax = 8 << 20;  // in bytes
  static constexpr std::size_t kRememberedLinesMax = 20'000;
  static constexpr std::size_t kRememberedBytesMax = 8 << 20;
  static constexpr std::size_t kShownOfRun = 3;  // very late lines in a row that are shown
  static constexpr std::chrono::seconds kVeryLate{2};

  using Lines = std::vector<FoldedLine>;
  using Ranks = boost::container::flat_set<int>;

  /// A worker will speak on standard output or on standard error.
  void expect(const Speaker& speaker, bool err);

  /// A worker has said a line.
  Lines say(int rank, SaidLine line, TimePoint now);

  /// A worker has ended: no line waits for it any more.
  Lines ended(int rank, TimePoint now);

  /// Returns what is due at `now`.
  Lines tick(TimePoint now);

  /// Returns all that `rank` has said so far, and what others said before it.
  Lines flush(int rank, TimePoint now);

  /// Returns everything.
  Lines flush_all(TimePoint now);

  /// Whether so much waits that this rank, which is further than most of it, should go on only when
  /// something was shown: kWindow later at most, or when the others have come as far.
  bool is_far_ahead(int rank) const;

  /// When tick() has something to do; nullopt: not before somebody says something.
  std::optional<TimePoint> next_tick() const;

 private:
  using Number = std::uint64_t;  // a line's place in the order of its queue

  struct Group {
    Number number = 0;
    LineSummary summary;
    SaidLine line;  // the first one, without its text
    TimePoint since;
    Ranks ranks = {};
    Number retells = 0;           // the number in shown_ of the line that says the same; 0: none
    Ranks said_before = {};       // its speakers
    Clock::duration lateness{0};  // since then
    bool is_told = false;         // as a late line already: see tell_late()
    std::size_t bytes() const;
  };

  /// Late lines of the same ranks in a row.
  struct Run {
    std::size_t count = 0;
    Lines first;  // at most kShownOfRun
    TimePoint since, latest;
    Clock::duration lateness{0};  // the greatest
    TimePoint due() const { return std::min(latest + kPause, since + kRunMax); }
  };

  struct Member {
    Speaker speaker;
    bool out = false, err = false;  // where it speaks
    bool has_ended = false;
    bool has_spoken() const { return queued != 0 || late != 0; }
    Number queued = 0;  // its last line that others have not been shown with
    Number late = 0;    // its last one with which they have; 0: it has caught up
    Number retold = 0;  // how far in shown_ it has come with what others said
  };

  /// The numbers of groups, by the hash of their words.
  using Index = std::set<std::pair<std::uint64_t, Number>>;

  static Group* find(std::deque<Group>& groups, const Index& index, const LineShape& shape,
                     const SaidLine& line, int rank, Number behind);
  Group& open(LineShape shape, SaidLine line, int rank, TimePoint now);
  bool complete(const Group& group) const;
  TimePoint shown_at_latest(const Group& group) const;
  void take_due(Lines& out, TimePoint now, Number up_to);
  void show_front(Lines& out, TimePoint now);
  void forget_old(TimePoint now);
  void add_to_run(const Group& group, Lines& out, TimePoint now);
  void tell_late(int rank, Lines& out, TimePoint now);
  void end_runs_of(const Ranks& ranks, const Ranks* but, Lines& out);
  void end_due_runs(Lines& out, TimePoint now);
  void tell_run(const Ranks& ranks, const Run& run, Lines& out) const;
  FoldedLine folded(const Group& group) const;
  std::vector<int> local_ranks_of(const Ranks& ranks) const;

  std::map<int, Member> members_;  // by rank
  std::deque<Group> waiting_;      // their numbers follow each other
  std::deque<Group> shown_;        // groups with numbers of their own; late ones are not among them
  Index waiting_index_, shown_index_;
  std::size_t waiting_bytes_ = 0, shown_bytes_ = 0;
  std::map<Ranks, Run> runs_;  // by the late ranks; no rank is in two
  Number next_waiting_ = 1, next_shown_ = 1;
  std::size_t speakers_out_ = 0, speakers_err_ = 0;  // that have not ended
  std::size_t silent_ = 0;                           // number of workers that have not said
                                                     // anything yet
  std::optional<TimePoint> begun_;                   // when the first line was said
};

}  // namespace ddprun
