#include "rendezvous/messages/node_policy.hpp"

#include "rendezvous/messages/restart_policy.hpp"

namespace ddprun {

std::string strikes_text(const NodePolicy& policy) {
  if (policy.strikes == 0) return "0";
  return std::to_string(policy.strikes) + "/" + span_text(policy.window_ms);
}

}  // namespace ddprun
