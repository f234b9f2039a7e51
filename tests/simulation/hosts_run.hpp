// HostsRun: a job on several hosts, with the real HostsMachine and with hosts that are drawn from a
// seed: they answer late or never, talk nonsense, lose their connection, and end as they like. The
// user interrupts at any time.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/hosts_machine.hpp"
#include "tests/simulation/hosts_invariants.hpp"
#include "tests/simulation/random.hpp"
#include "tests/simulation/timeline.hpp"

namespace ddprun::simulation {

/// What is wrong with a host, if anything.
enum class HostKind {
  kFine,
  kUnreachable,    // ssh ends at once
  kSilent,         // ssh runs and does not answer
  kLate,           // answers when nobody waits any more, or shortly before
  kOtherVersion,   // has another ddprun
  kBabbler,        // sends what is no message, at some time
  kCutOff,         // loses its connection at some time
  kCannotBegin,    // its agent ends before it has begun
  kEndsByItself,   // its agent ends before the job does
  kNeverListens,   // as leader it does not say where its coordinator is
  kDeaf,           // does not stop on request
  kLingers,        // its ssh stays after its agent has ended
  kRepeatsItself,  // says everything twice, and what is not its to say
};
inline constexpr int kHostKinds = 13;

class HostsRun {
 public:
  struct Outcome {
    std::optional<std::string> broken;  // the first invariant that was
    std::deque<std::string> trace;
    milliseconds simulated{};
    int faults = 0;
    int interrupts = 0;
  };

  /// `trace_lines_max`: how many of the last events are written down.
  static Outcome run(std::uint64_t seed, std::size_t trace_lines_max);

 private:
  struct SimulatedHost {
    HostKind kind = HostKind::kFine;
    bool ssh_runs = false;
    bool babbled = false;  // nobody reads on
    bool started = false;
    bool leads = false;
    bool listened = false;  // its coordinator was there
    bool ending = false;
  };

  HostsRun(std::uint64_t seed, std::size_t trace_lines_max);
  Outcome carry_out();
  void step(const HostsEvent& event);
  void perform(const HostsAction& action);
  void set_alarm();
  void plan_interrupts();
  void connect(int host);
  void start(const StartAgent& order);
  void lead(int host);
  void follow(int host);
  void lose_leader(int host);
  void succeed(int host);
  void end_job_at(int host);
  void end_job();
  void stop(int host, int signal);
  void end_agent(int host, milliseconds delay, HostEnded end);
  void end_ssh(int host, milliseconds delay, int code);
  void say(int host, milliseconds delay, FromHost message);
  void chatter(int host, int lines);
  milliseconds a_while() { return random_.time(milliseconds{0}, milliseconds{2'000}); }
  template <typename Line>
  void note(Line line);

  Random random_;
  Timeline time_;
  HostsRules rules_;
  HostsMachine machine_;
  HostsInvariants invariants_;
  std::vector<SimulatedHost> hosts_;
  std::optional<int> verdict_;  // the job's, once it has one
  milliseconds job_takes_{};
  std::optional<TimePoint> alarm_;
  bool finished_ = false;
  std::size_t trace_lines_max_;
  Outcome outcome_;
};

}  // namespace ddprun::simulation
