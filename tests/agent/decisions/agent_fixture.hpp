// What tests of AgentMachine share: events go in, time passes, and the actions that come out pile
// up until a test takes them.
#pragma once

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "agent/decisions/agent_machine.hpp"

namespace ddprun {

class MachineFixture {
 protected:
  explicit MachineFixture(AgentRules rules) : machine_{std::move(rules)} {}

  void step(const AgentEvent& event) {
    for (AgentAction& action : machine_.step(event, now_)) actions_.push_back(std::move(action));
  }
  /// Alarms ring when they are due.
  void passes(std::chrono::milliseconds time) {
    const TimePoint end = now_ + time;
    while (machine_.next_alarm() && *machine_.next_alarm() <= end) {
      now_ = *machine_.next_alarm();
      step(Alarm{});
    }
    now_ = end;
  }
  /// The last action of a kind, which is taken away with all others of the kind.
  template <typename Action>
  std::optional<Action> took() {
    return last_of<Action>([](AgentAction& action) { return std::get_if<Action>(&action); });
  }
  /// As above, for messages to the coordinator.
  template <typename Message>
  std::optional<Message> said() {
    return last_of<Message>([](AgentAction& action) {
      auto* const tell = std::get_if<Tell>(&action);
      return tell != nullptr ? std::get_if<Message>(&tell->message) : nullptr;
    });
  }

  TimePoint now_{};
  AgentMachine machine_;
  std::vector<AgentAction> actions_;

 private:
  template <typename Found, typename Find>
  std::optional<Found> last_of(Find find) {
    std::optional<Found> last;
    std::erase_if(actions_, [&](AgentAction& action) {
      auto* const found = find(action);
      if (found != nullptr) last = std::move(*found);
      return found != nullptr;
    });
    return last;
  }
};

}  // namespace ddprun
