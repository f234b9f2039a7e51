// StragglerWatch: which ranks of the running round come late again and again, so that the others
// wait for them.
//
// A rank is a straggler only when it is steady: late in nearly all steps, in two looks that show
// different steps, and some seconds apart. One that comes late because it has itself waited for
// another, in another group, is none. So a rank that saves a checkpoint or is compiled, a noisy
// machine and a warm-up make none.
//
// A rank may also slow all others without being late: where its network is slow, all are equally
// long in the collectives that they have in common.
//
// It is passive, as CoordinatorMachine is, which owns it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "base/clock.hpp"
#include "rendezvous/messages/straggler.hpp"
#include "rendezvous/watch/lateness.hpp"
#include "rendezvous/watch/sleep_samples.hpp"
#include "rendezvous/watch/slow_cause.hpp"

namespace ddprun {

/// A look takes in this time at the least, and at least this many steps: see measure_lateness().
inline constexpr std::chrono::milliseconds kLatenessTime{4'000};
inline constexpr int kLatenessSteps = 12;
/// A rank is late in a look when it costs this part of the time, is clearly late in that part of
/// the steps, and waits itself for at most that part of what others wait for it.
inline constexpr double kLatePart = 0.05;
inline constexpr double kLateSteps = 0.75;
inline constexpr double kOwnWait = 0.5;
/// A rank with a slow network slows all where what it sends is in flight for so much more of the
/// time, and every one spends as much in collectives or asleep.
inline constexpr double kSlowNetwork = 0.2;
/// It is a straggler after this many looks in turn and that time, and none any more after as many
/// in which it was not late. This part of a look's collectives has to be newer than the look
/// before.
inline constexpr int kLateLooks = 2;
inline constexpr std::chrono::milliseconds kLateFor{4'000};
inline constexpr double kNewPart = 1.0 / 3;

class StragglerWatch {
 public:
  /// A round of that many workers begins.
  void begin_round(int round, int world_size);
  void end_round() { begin_round(0, 0); }

  struct Found {
    Straggler straggler;  // its node and its sentence are not filled in
  };
  struct Over {
    std::string ranks;
  };
  using Change = std::variant<std::monostate, Found, Over>;
  /// Notes what a rank of the round tells, and looks when all have told of the same moment. Returns
  /// what is new of that: other ranks, or a cause that was not known.
  Change take(const Arrivals& told, TimePoint now);

  /// From now to resume() no rank is judged, as somebody debugs the job, nor by what it has done in
  /// between later.
  void suspend(TimePoint now);
  void resume(TimePoint now);

  /// When a rank that may hold up the others is to be looked at next; nullopt: none is.
  std::optional<TimePoint> next_sample() const;
  /// That rank, and the question for its node: see SleepSamples.
  struct Sample {
    int rank = 0;
    Inspect question;
  };
  Sample sample(int number, TimePoint now);
  void take(const Inspected& answer);

  /// The ranks that hold up the others now; nullopt: there are none.
  const std::optional<Straggler>& straggler() const { return straggler_; }

  /// Which part of everybody's time the others have waited for a rank that did not wait for another
  /// itself, by the last look; nullopt: it is not known.
  std::optional<double> late_part(int rank) const;

 private:
  /// What ranks have told of one moment.
  struct Told {
    std::set<int> ranks;
    std::map<std::string, std::map<int, ArrivalTimes>> arrivals;  // by group and rank
  };
  /// What one look has shown of a rank, as parts of the time.
  struct Share {
    double late = 0, waited = 0, cost = 0, steps = 0;
    std::int64_t late_us = 0, step_us = 0;
  };
  struct Suspect {
    Share share;  // the last one that was late
    TimePoint since;
    int looks = 0;   // in turn, in which it was late
    int misses = 0;  // in turn, in which it was not
    bool told = false;
  };
  std::optional<ArrivalTimes> judged_part(const GroupArrivals& told) const;
  void look(const Told& told, TimePoint now);
  void note(const GroupLateness& group);
  void judge(int rank, const Share& share, TimePoint now);
  void compare_strains();
  void choose_sampled(TimePoint now);
  Change changed(TimePoint now);
  std::optional<StrainRates> strain_of(int rank) const;
  SlowCause why(int rank) const;
  std::optional<double> slows_all(int rank) const;
  bool is_to_blame(int rank) const;
  static bool waits_itself(const Share& share);
  static bool is_late(const Share& share);

  int round_ = 0;
  int world_size_ = 0;
  std::optional<TimePoint> suspended_;  // since then
  std::optional<TimePoint> resumed_;
  std::map<std::int64_t, Told> told_;                 // by the moment: see Arrivals::look
  std::map<std::string, std::int64_t> looked_until_;  // by group: the last collective so far
  std::map<int, Share> shares_;                       // by the last look
  StrainRates usual_;                                 // the median of all ranks, by the last look
  bool unequal_networks_ = false;                     // some send for longer, by the last look
  std::map<int, StrainRates> strains_;                // by rank: what it has told last
  std::map<int, Suspect> suspects_;
  std::optional<SleepSamples> samples_;  // the latest suspect's
  std::optional<Straggler> straggler_;
};

}  // namespace ddprun
