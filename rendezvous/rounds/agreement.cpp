#include "rendezvous/rounds/agreement.hpp"

#include <algorithm>
#include <vector>

namespace ddprun {

namespace {

/// Spells what must be the same on all nodes as options of the command line.
std::vector<std::string> spelled(const std::string& run_id, const JobTerms& terms) {
  const std::string min = std::to_string(terms.nodes_min);
  const std::string max = std::to_string(terms.nodes_max);
  return {"--rdzv-id=" + run_id,
          "--nnodes=" + (min == max ? max : min + ":" + max),
          "--max-restarts=" + budget_text(terms.restarts_max, terms.restarts),
          "--restart-delay=" + delay_text(terms.restarts),
          "--same-failure-limit=" + std::to_string(terms.restarts.same_failure_limit),
          "--node-strikes=" + strikes_text(terms.node_policy),
          terms.store == StoreAt::kLocal ? "--store=local" : "--store=leader"};
}

}  // namespace

CoordinatorRules rules_of(const Join& join) { return {.run_id = join.run_id, .terms = join.terms}; }

std::optional<std::string> difference(const CoordinatorRules& rules, const Join& join) {
  if (join.witness) return std::nullopt;  // it goes by nothing
  const auto ours = spelled(rules.run_id, rules.terms);
  const auto theirs = spelled(join.run_id, join.terms);
  const auto [our, their] = std::ranges::mismatch(ours, theirs);
  if (our == ours.end()) return std::nullopt;
  return "options differ between the nodes: '" + *our + "' at the coordinator, '" + *their +
         "' on " + join.host;
}

}  // namespace ddprun
