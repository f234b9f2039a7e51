#include "agent/reports/wait_note.hpp"

#include <spdlog/fmt/fmt.h>

namespace ddprun {

namespace {

std::string text(const Waiting& waiting) {
  const auto seconds = (waiting.left_ms + 999) / 1000;
  if (waiting.nodes < waiting.nodes_min)
    return fmt::format("waiting for nodes: {} of {} there; giving up in {} s", waiting.nodes,
                       waiting.nodes_min, seconds);
  return fmt::format("{} there, and {} may be: starting in {} s",
                     waiting.nodes == 1 ? "1 node is" : fmt::format("{} nodes are", waiting.nodes),
                     waiting.nodes_max, seconds);
}

}  // namespace

std::optional<std::string> WaitNote::next(const Waiting& waiting, TimePoint now) {
  if (!since_) since_ = now;
  const bool due = !said_ || waiting.nodes != nodes_ || now - *said_ >= kInterval;
  if (!due || now - *since_ < kSilence) return std::nullopt;
  said_ = now;
  nodes_ = waiting.nodes;
  return text(waiting);
}

}  // namespace ddprun
