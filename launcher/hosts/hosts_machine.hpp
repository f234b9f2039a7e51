// HostsMachine decides how the launcher starts, stops and judges the agents of a job on several
// hosts: who is connected to when, who hosts the coordinator, what follows when one is lost, and
// with which code it all ends.
//
// It is passive, like CoordinatorMachine: events and their time in, actions out. Hosts are known by
// their place in the list, which is their wanted node rank. The job's own fate (restarts, rounds)
// is its coordinator's business: see docs/internals/rounds.md.
//
// All hosts are connected to at once, kConnectingMax at a time. The first of them that is there
// hosts the coordinator: it is started first and says where that listens; the others are started
// then. Its exit code is the job's. When it is lost, and another agent's coordinator may follow its
// own, that one says where it listens, and leads from then on.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/failure.hpp"
#include "launcher/hosts/host_messages.hpp"
#include "launcher/hosts/ssh_command.hpp"

namespace ddprun {

/// NoteFilter lets a message that every node of a job writes be shown once.
class NoteFilter {
 public:
  /// Whether `text`, which `host` says now, is to be shown. It is not when another host has already
  /// said it as often as this one.
  bool is_news(int host, const std::string& text);

 private:
  struct Note {
    int shown = 0;
    std::map<int, int> said;  // how often, by host
  };
  std::map<std::string, Note> notes_;
};

/// What the machine goes by.
struct HostsRules {
  std::vector<Host> hosts;
  int nodes_min = 1;            // with fewer hosts the job makes no sense
  bool has_successors = false;  // a coordinator that is lost is followed by another agent's
  Ssh ssh;
  std::string version;  // this ddprun's; the hosts must have the same
  std::chrono::milliseconds shutdown_timeout{30'000};  // the time an agent may take for its workers
};

/// At most this many hosts are connected to at a time.
inline constexpr int kConnectingMax = 64;
/// A host has this long from the start of ssh to the agent's hello, and a leader from its start to
/// its coordinator.
inline constexpr std::chrono::milliseconds kAnswerTimeout{60'000};
/// An agent that ends by itself may have lost its leader, of whose end nothing has been heard yet.
/// So it is missed only when the leader is still there after this time.
inline constexpr std::chrono::milliseconds kLeaderDelay{2'000};
/// Agents may take this long beyond their workers' time to end.
inline constexpr std::chrono::milliseconds kStopReserve{15'000};

// clang-format off
struct Begin {};
struct HostSaid { int host; FromHost message; };
/// Its ssh has ended.
struct HostGone { int host; ExitStatus status; std::vector<std::string> last_words; };
struct HostBabbles { int host; std::string what; };  // the host sends no conversation
struct Interrupt { int signal; bool to_stop = true; };
struct HostsAlarm {};  // next_alarm() has come
using HostsEvent = std::variant<Begin, HostSaid, HostGone, HostBabbles, Interrupt, HostsAlarm>;

struct Connect { int host; };
struct StartAgent { int host; bool leads; HostListening coordinator; };
struct PassSignal { int host; int signal; };
struct KillSsh { int host; };  // HostGone follows, and on the host the agent stops
struct Complain { std::string text; };
struct Finish { int code; };
using HostsAction = std::variant<Connect, StartAgent, PassSignal, KillSsh, Complain, Finish>;
// clang-format on

class HostsMachine {
 public:
  explicit HostsMachine(HostsRules rules);

  /// Takes an event, and returns the actions that follow from it, in their order.
  std::vector<HostsAction> step(const HostsEvent& event, TimePoint now);

  /// Returns when a HostsAlarm is due; nullopt when there is nothing to wait for.
  std::optional<TimePoint> next_alarm() const;

  /// Returns the host whose words are the job's; -1 while there is none.
  int leader() const { return leader_; }

  /// Whether a report of `host` is the job's, as far as is known by now. All hosts tell the same;
  /// the leader has the last word, unless it is lost.
  bool takes_report_of(int host) const;

 private:
  enum class Phase { kWaiting, kConnecting, kReady, kRunning, kEnded, kGone };
  struct Node {
    Phase phase = Phase::kWaiting;
    bool greeted = false;
    bool lost = false;  // it takes no part in the job any more
    std::optional<TimePoint> due;
  };

  void hear(int host, const FromHost& message, TimePoint now);
  void greet(int host, const HostHello& hello);
  void listening(int host, const HostListening& where);
  bool may_lead(int host) const;
  void end_with(int code, TimePoint now);
  void judge_without_leader(TimePoint now);
  void ended(int host, const HostEnded& end, TimePoint now);
  void gone(const HostGone& event);
  void talks(TimePoint now);
  void leave_idle();
  void leave_all();
  void give_up(int host, const std::string& why);
  void interrupt(const Interrupt& event, TimePoint now);
  void alarm(TimePoint now);
  void late(int host);
  void advance(TimePoint now);
  void connect(TimePoint now);
  void start(TimePoint now);
  void judge(TimePoint now);
  void stop(int signal, TimePoint now);
  void finish();
  int count(Phase phase) const;
  int left() const;
  bool deciding() const { return !stopping_ && !result_; }
  const Host& host(int index) const { return rules_.hosts[index]; }

  HostsRules rules_;
  std::vector<Node> nodes_;
  int leader_ = -1;
  std::optional<HostListening> coordinator_;  // the last one that was heard of
  std::optional<int> verdict_;                // the job's code, as the first agent reported it
  std::optional<int> result_;
  int mourned_ = -1;       // the leader that was lost last
  int first_failure_ = 0;  // the code of the first agent that failed
  bool begun_ = false;
  bool stopping_ = false;
  bool finished_ = false;
  int interrupts_ = 0;
  int signal_ = 0;                // the signal of the first interrupt
  std::optional<TimePoint> due_;  // for all hosts: who is there then is left
  std::vector<HostsAction> actions_;
};

}  // namespace ddprun
