// StoreBudget counts how much memory the store's clients have taken together, and limits it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "base/result.hpp"

namespace ddprun {

class StoreBudget {
 public:
  /// A budget of `bytes_max`. What is taken of it also counts in `whole`, which several stores of a
  /// server share; nullptr: there is none.
  explicit StoreBudget(std::size_t bytes_max, std::shared_ptr<StoreBudget> whole = nullptr)
      : bytes_max_{bytes_max}, whole_{std::move(whole)} {}
  StoreBudget(const StoreBudget&) = delete;
  StoreBudget& operator=(const StoreBudget&) = delete;
  ~StoreBudget() {
    if (whole_) whole_->release(bytes_used_);
  }

  /// Takes `bytes` of the budget. Errors: kUnavailable when fewer are left; nothing is taken then.
  Result<void> charge(std::size_t bytes) {
    if (bytes > bytes_max_ - bytes_used_) return refusal(bytes);
    if (whole_)
      if (auto charged = whole_->charge(bytes); !charged) return charged;
    bytes_used_ += bytes;
    return {};
  }

  /// Gives back `bytes` that were charged.
  void release(std::size_t bytes) {
    bytes_used_ -= bytes;
    if (whole_) whole_->release(bytes);
  }

  /// Replaces a charge of `before` bytes by one of `after`. Errors: as for charge().
  Result<void> change(std::size_t before, std::size_t after) {
    if (after > before) return charge(after - before);
    release(before - after);
    return {};
  }

  std::size_t bytes_used() const { return bytes_used_; }

 private:
  Error refusal(std::size_t bytes) const {
    return {Error::Kind::kUnavailable, "the store is full: " + std::to_string(bytes_used_) +
                                           " of " + std::to_string(bytes_max_) +
                                           " bytes are in use, " + std::to_string(bytes) +
                                           " more were asked for"};
  }

  std::size_t bytes_max_;
  std::size_t bytes_used_ = 0;
  std::shared_ptr<StoreBudget> whole_;
};

}  // namespace ddprun
