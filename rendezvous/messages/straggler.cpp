#include "rendezvous/messages/straggler.hpp"

#include <fmt/format.h>

#include "base/numbers.hpp"

namespace ddprun {

namespace {

/// What is to be said of ranks that are late, and of ranks that slow all without being late.
struct Verbs {
  const char* make;
  const char* slow;
};

std::string cost_text(const Straggler& straggler, Verbs verbs) {
  const std::string place = straggler.node.empty() ? "" : " (" + straggler.node + ")";
  return fmt::format("{}{} {} {:.0f} % of the time", ranks_text(straggler.ranks), place,
                     straggler.late_us > 0
                         ? fmt::format("{} the others wait", verbs.make)
                         : fmt::format("{} the collectives, which costs all", verbs.slow),
                     straggler.cost_percent);
}

std::string with_cause(std::string sentence, const Straggler& straggler, const char* before) {
  return sentence + (straggler.why.empty() ? "; no cause was found" : before + straggler.why);
}

std::int64_t milliseconds_in(std::int64_t us) { return (us + 500) / 1'000; }

}  // namespace

std::string sentence_of(const Straggler& straggler) {
  const bool many = are_many(straggler.ranks);
  const std::string cost =
      cost_text(straggler, many ? Verbs{"make", "slow"} : Verbs{"makes", "slows"});
  if (straggler.late_us == 0) return with_cause(cost, straggler, ": ");
  return with_cause(
      fmt::format("{}: {} {} ms late in each step of {} ms", cost, many ? "they are" : "it is",
                  milliseconds_in(straggler.late_us), milliseconds_in(straggler.step_us)),
      straggler, ", and ");
}

std::string past_sentence_of(const Straggler& straggler) {
  return with_cause(cost_text(straggler, {"made", "slowed"}), straggler, ": ");
}

}  // namespace ddprun
