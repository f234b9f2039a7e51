#include "rendezvous/messages/straggler.hpp"

#include <fmt/format.h>

#include "base/numbers.hpp"

namespace ddprun {

namespace {

std::string wait_text(const Straggler& straggler, const char* verb) {
  const std::string place = straggler.node.empty() ? "" : " (" + straggler.node + ")";
  return fmt::format("{}{} {} the others wait {:.0f} % of the time", ranks_text(straggler.ranks),
                     place, verb, straggler.cost_percent);
}

std::string with_cause(std::string sentence, const Straggler& straggler, const char* before) {
  return sentence + (straggler.why.empty() ? "; no cause was found" : before + straggler.why);
}

std::int64_t milliseconds_in(std::int64_t us) { return (us + 500) / 1'000; }

}  // namespace

std::string sentence_of(const Straggler& straggler) {
  const bool many = are_many(straggler.ranks);
  return with_cause(
      fmt::format("{}: {} {} ms late in each step of {} ms",
                  wait_text(straggler, many ? "make" : "makes"), many ? "they are" : "it is",
                  milliseconds_in(straggler.late_us), milliseconds_in(straggler.step_us)),
      straggler, ", and ");
}

std::string past_sentence_of(const Straggler& straggler) {
  return with_cause(wait_text(straggler, "made"), straggler, ": ");
}

}  // namespace ddprun
