#include "launcher/run/node_fitness.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/text.hpp"

namespace ddprun {

namespace {

constexpr std::array<std::string_view, 4> kStates{"fit", "busy", "unfit", "unknown"};

}  // namespace

std::string to_lines(const NodeFitness& fitness) {
  return std::string{kStates.at(static_cast<std::size_t>(fitness.state))} + '\n' +
         plain_line(fitness.seen) + '\n' + plain_line(fitness.advice) + '\n';
}

Result<NodeFitness> parse_fitness(const std::string& lines) {
  std::vector<std::string> parts = split_lines(lines);
  const auto state = parts.empty() ? kStates.end() : std::ranges::find(kStates, parts.front());
  if (parts.size() != kFitnessLines || state == kStates.end())
    return Error{Error::Kind::kInvalid,
                 "its answer " + printable(lines) + " is not a state, what was seen and an advice"};
  NodeFitness fitness{static_cast<NodeFitness::State>(state - kStates.begin()),
                      plain_line(parts[1]), plain_line(parts[2])};
  if (fitness.state == NodeFitness::State::kUnknown)
    return Error{Error::Kind::kUnavailable, fitness.seen};
  return fitness;
}

}  // namespace ddprun
