// Stateful: a part of a training that has something to remember beside tensors. A checkpoint holds
// it as text, if it was given to Checkpointer::keep(). Needs no LibTorch.
#pragma once

#include <string>

namespace ddprun::sdk {

/// LRScheduler and GradScaler are such parts; a program may have its own.
class Stateful {
 public:
  virtual ~Stateful() = default;

  /// Returns what to remember, in UTF-8.
  virtual std::string save_state() const = 0;

  /// Goes on where save_state() was called. Errors: std::invalid_argument for a text that is none
  /// of its own.
  virtual void restore_state(const std::string& state) = 0;
};

}  // namespace ddprun::sdk
