// Fake time: tasks run in the order of their time, those of one moment in the order of their
// making.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "rendezvous/rounds/coordinator_machine.hpp"

namespace ddprun::simulation {

class Timeline {
 public:
  using Task = std::function<void()>;

  TimePoint now() const { return now_; }

  void at(TimePoint due, Task task) {
    heap_.push_back({std::max(due, now_), made_++, std::move(task)});
    std::ranges::push_heap(heap_, later);
  }
  void after(std::chrono::milliseconds delay, Task task) { at(now_ + delay, std::move(task)); }

  /// Time moves to the next task; false when there is none.
  bool run_next() {
    if (heap_.empty()) return false;
    std::ranges::pop_heap(heap_, later);
    const Entry next = std::move(heap_.back());
    heap_.pop_back();
    now_ = next.due;
    next.task();
    return true;
  }

 private:
  struct Entry {
    TimePoint due;
    std::uint64_t serial;
    Task task;
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.due != b.due ? a.due > b.due : a.serial > b.serial;
  }

  TimePoint now_{};
  std::uint64_t made_ = 0;
  std::vector<Entry> heap_;
};

}  // namespace ddprun::simulation
