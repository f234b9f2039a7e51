// RoundMachine decides for one job which nodes form a round, when it is sealed, when it has to stop
// and how the job ends.
//
// It is passive: no socket, no thread, no clock. The server hands it each event with the time it
// happened and performs the actions it returns, so a test can replay a day in a microsecond.
// The rules are written down in PROTOCOL.md, section "Rounds".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rendezvous/rounds/roster.hpp"
#include "rendezvous/wire/messages.hpp"

namespace ddprun {

/// The rules of the job that a node joins as the first one.
RoundRules rules_of(const Join& join);

// clang-format off
struct FromNode { NodeId node; AgentMessage message; };
struct NodeLost { NodeId node; std::string reason; };
struct Tick {};
using RoundEvent = std::variant<FromNode, NodeLost, Tick>;

struct SendTo { NodeId node; CoordinatorMessage message; };
struct DropNode { NodeId node; std::string reason; };  // close its connection, it is forgotten
struct OpenStore { int round; int world_size; };  // an empty one; what was connected to the last is cut off
using RoundAction = std::variant<SendTo, DropNode, OpenStore>;
// clang-format on

class RoundMachine {
 public:
  RoundMachine(RoundRules rules, TimePoint now);

  std::vector<RoundAction> step(const RoundEvent& event, TimePoint now);

  /// The store's port, where that is known only after the rules.
  void serve_store_at(int port) { rules_.master_port = port; }

  /// When a Tick is due; nullopt while only messages can change anything.
  std::optional<TimePoint> next_tick() const;

  bool ended() const { return state_ == State::kEnded; }
  bool has_nodes() const { return !nodes_.empty(); }
  const RoundRules& rules() const { return rules_; }

 private:
  enum class State { kGathering, kRunning, kStopping, kEnded };
  using Node = Roster::Node;
  using Phase = Roster::Phase;

  void receive(const NodeId& id, const AgentMessage& message, TimePoint now);
  void answer_beat(const NodeId& id, TimePoint now);
  void admit(const Join& join, TimePoint now);
  void fail(Node& node, const WorkerFailed& report);
  void finish(Node& node, const WorkersFinished& report);
  void stopped(Node& node, const WorkersStopped& report);
  void preempt(const Preempt& report);
  void lose(const NodeId& id, const std::string& reason);
  void evict_silent(TimePoint now);
  void forgive_after_own_sleep(TimePoint now);

  void advance(TimePoint now);
  void begin_stop(const std::string& reason, std::int64_t checkpoint_ms = 0);
  void gather(TimePoint now);
  bool ready_to_seal(TimePoint now);
  void seal();
  void end(EndJob verdict);

  std::vector<Node*> choose_members();
  static std::vector<Node*> order_by_rank(std::vector<Node*> unplaced);
  int members() const;
  EndJob timed_out() const;
  void send(const NodeId& node, CoordinatorMessage message);

  RoundRules rules_;
  State state_ = State::kGathering;
  int round_ = 0;
  int attempt_ = 0;
  int arrivals_ = 0;
  Roster nodes_;
  std::optional<EndJob> verdict_;  // decided, once every node has stopped
  std::string last_loss_;          // why the job may be short of nodes
  TimePoint gathering_since_;
  std::optional<TimePoint> last_call_ends_;
  TimePoint last_step_;
  std::vector<RoundAction> actions_;
};

}  // namespace ddprun
