// What a job goes by, and whether a node that joins goes by the same. Pure.
#pragma once

#include <optional>
#include <string>

#include "rendezvous/messages/membership_messages.hpp"
#include "rendezvous/rounds/coordinator_rules.hpp"

namespace ddprun {

/// Returns the rules of a job whose first node is the one that joins.
CoordinatorRules rules_of(const Join& join);

/// Returns a sentence that names the first option in which the node differs from the job, with both
/// values; nullopt when all agree that have to.
std::optional<std::string> difference(const CoordinatorRules& rules, const Join& join);

}  // namespace ddprun
