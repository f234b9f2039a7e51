// Cut: the round stops behind one step, which all its workers count, so that none is dropped. Pure.
// docs/internals/rounds.md, section "In place".
//
//     none --begin--> hold --all nodes hold--> last step
//       any --broken, or a node whose workers have not all left in order--> none
//
// A node that holds reports the greatest number of steps that one of its workers has counted. No
// worker counts another one before it gets the limit, which is one more than the greatest of these:
// so all can reach it, and know it before they do.
#pragma once

#include <cstdint>
#include <map>

#include "rendezvous/messages/messages.hpp"
#include "rendezvous/rounds/coordinator_events.hpp"
#include "rendezvous/rounds/roster.hpp"

namespace ddprun {

class Cut {
 public:
  /// Both must live longer.
  Cut(const Roster& nodes, Outbox& out) : nodes_{nodes}, out_{out} {}

  /// The order that the nodes which stop get.
  void begin(const StopRound& gently);
  /// A node holds, or cannot.
  void held(const Roster::Node& node, const Holding& report);
  /// A node has stopped its workers, and those that it has parked are known.
  void stopped(const Roster::Node& node);
  /// A member is lost: the current step is not waited for.
  void broken();
  /// All nodes have stopped.
  void end() { state_ = State::kNone; }

 private:
  enum class State { kNone, kHold, kLastStep };
  void tell_stopping(const CoordinatorMessage& order);

  const Roster& nodes_;
  Outbox& out_;
  State state_ = State::kNone;
  StopRound at_once_;                    // is sent if not all can leave in order
  std::map<NodeId, std::int64_t> held_;  // the steps that nodes have told
};

}  // namespace ddprun
