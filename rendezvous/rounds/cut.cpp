#include "rendezvous/rounds/cut.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

void Cut::begin(const StopRound& gently) {
  state_ = State::kHold;
  at_once_ = gently;
  at_once_.gently = false;
  at_once_.reason = "not all workers could leave behind one step";
  held_.clear();
}

void Cut::held(const Roster::Node& node, const Holding& report) {
  if (report.round != at_once_.round || node.phase() != Roster::Phase::kStopping) return;
  if (report.step < 0) return broken();
  if (state_ != State::kHold) return;
  held_[node.id()] = report.step;
  if (held_.size() < static_cast<std::size_t>(nodes_.count(Roster::Phase::kStopping))) return;
  state_ = State::kLastStep;
  const auto most =
      std::ranges::max_element(held_, {}, [](const auto& told) { return told.second; });
  tell_stopping(LeaveAfter{report.round, most->second + 1});
}

/// Where a worker is lost the others of its node leave at once, and so do their peers.
void Cut::stopped(const Roster::Node& node) {
  const bool in_order =
      state_ == State::kLastStep && std::ssize(node.parked.workers) >= node.workers_in_round();
  if (!in_order) broken();
}

void Cut::broken() {
  if (std::exchange(state_, State::kNone) != State::kNone) tell_stopping(at_once_);
}

void Cut::tell_stopping(const CoordinatorMessage& order) {
  nodes_.for_each([&](const Roster::Node& node) {
    if (node.phase() == Roster::Phase::kStopping) out_.send(node.peer(), order);
  });
}

}  // namespace ddprun
