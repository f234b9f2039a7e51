#include "agent/reports/wait_note.hpp"

#include <fmt/format.h>

namespace ddprun {

namespace {

std::string text(const Waiting& waiting, const std::string& place) {
  const auto seconds = (waiting.left_ms + 999) / 1000;
  if (waiting.nodes < waiting.nodes_min)
    return fmt::format("waiting for nodes{}: {} of {} there; giving up in {} s",
                       place.empty() ? "" : " at " + place, waiting.nodes, waiting.nodes_min,
                       seconds);
  const std::string there =
      waiting.nodes == 1 ? "1 node is" : fmt::format("{} nodes are", waiting.nodes);
  if (waiting.objected > 0)
    return fmt::format(
        "{} there, {} of them to be left out (--node-strikes, --check-nodes): starting in {} s, or "
        "when others have come in place of these",
        there, waiting.objected, seconds);
  return fmt::format("{} there, and {} may be: starting in {} s", there, waiting.nodes_max,
                     seconds);
}

}  // namespace

std::optional<std::string> WaitNote::next(const Waiting& waiting, const std::string& place,
                                          TimePoint now) {
  if (!since_) since_ = now;
  const bool due = !said_ || waiting.nodes != nodes_ || now - *said_ >= kInterval;
  if (!due || now - *since_ < kSilence) return std::nullopt;
  said_ = now;
  nodes_ = waiting.nodes;
  return text(waiting, place);
}

}  // namespace ddprun
