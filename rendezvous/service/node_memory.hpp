// NodeMemory keeps which nodes were the cause of failures, for longer than one job.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "rendezvous/rounds/node_history.hpp"

namespace ddprun {

class NodeMemory {
 public:
  /// What is remembered; nullopt: it cannot be read.
  using Failures = std::optional<std::vector<NodeFailure>>;
  using Answer = std::function<void(Failures)>;

  NodeMemory() = default;
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;
  virtual ~NodeMemory() = default;

  /// Keeps a failure. It returns at once.
  virtual void remember(const NodeFailure& failure) = 0;
  /// Gives `answer` all that was remembered before, by whatever process. It returns at once;
  /// `answer` is called in any thread, once, or never if the memory does not answer.
  virtual void recall(Answer answer) = 0;
};

}  // namespace ddprun
