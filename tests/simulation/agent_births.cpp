// The part of AgentShell that starts processes, by a fork server or the ordinary way, and what can
// be seen of them from outside.
#include <algorithm>
#include <set>
#include <utility>

#include "tests/simulation/agent_shell.hpp"

namespace ddprun::simulation {

namespace {

bool trains(const FakeWorker& worker) {
  return worker.runs && !worker.parked && worker.round != kNoRound;
}

std::string place_of(const FakeWorker& worker) {
  return "local rank " + std::to_string(worker.local_rank) + " of round " +
         std::to_string(worker.round);
}

}  // namespace

pid_t AgentShell::fork(int round, int local_rank) {
  const bool ignores = world_.random.chance(world_.plan.ignores_term_percent);
  const bool stuck = ignores && world_.random.chance(world_.plan.stuck_percent);
  alive_[++spawned_] = {.round = round,
                        .local_rank = local_rank,
                        .ignores_term = ignores,
                        .stuck = stuck && round != kNoRound,
                        .ends = TimePoint::max(),
                        .how = {},
                        .world_size = round == kNoRound ? 0 : round_.world_size};
  return spawned_;
}

void AgentShell::let_go(pid_t pid) {
  const auto worker = alive_.find(pid);
  if (worker == alive_.end()) return;
  worker->second.runs = true;
  if (worker->second.round == kNoRound) return live_beside(pid);
  begin_to_work(pid);
  greet(pid);
}

void AgentShell::close_gate(const std::vector<pid_t>& pids) {
  std::erase_if(alive_, [&](const auto& entry) {
    return !entry.second.runs && std::ranges::count(pids, entry.first) > 0;
  });
}

void AgentShell::kill(pid_t pid) {
  alive_.erase(pid);
  ended_.erase(pid);
}

void AgentShell::when_awake(Timeline::Task task) {
  if (frozen_)
    held_.push_back(std::move(task));
  else
    task();
}

void AgentShell::start_all(const std::vector<ForkServerShell::Child>& fresh) {
  if (!fork_server_) {
    for (const auto& child : fresh) {
      const pid_t pid = fork(child.round, child.local_rank);
      alive_.at(pid).watched = true;
      let_go(pid);
    }
    return;
  }
  const auto unwanted = [this, start = starts_] { return stopping_ || start != starts_; };
  fork_server_->spawn(fresh, unwanted, [this, start = starts_, fresh](const auto& pids) {
    for (std::size_t i = 0; i < pids.size(); ++i)
      start == starts_ ? take_on(fresh[i], pids[i]) : kill(pids[i]);
  });
}

/// It may have ended already, or never have begun.
void AgentShell::take_on(const ForkServerShell::Child& child, pid_t pid) {
  const auto worker = alive_.find(pid);
  if (worker != alive_.end()) {
    worker->second.watched = true;
    return;
  }
  const auto ended = ended_.find(pid);
  FakeWorker gone{.round = child.round, .local_rank = child.local_rank, .how = {.code = 126}};
  if (ended != ended_.end()) gone = std::exchange(ended->second, {});
  ended_.erase(pid);
  note_end(gone);
}

/// Nothing of it may be left when ddprun ends.
void AgentShell::end_fork_server() {
  if (fork_server_) fork_server_->end();
  std::erase_if(alive_, [](const auto& entry) { return !entry.second.watched; });
  ended_.clear();
}

int AgentShell::round_alive() const {
  for (const auto& [serial, worker] : alive_)
    if (trains(worker)) return worker.round;
  return 0;
}

std::optional<std::string> AgentShell::beside() const {
  const FakeWorker* first = nullptr;
  std::set<int> places;
  for (const auto& [serial, worker] : alive_) {
    if (!trains(worker)) continue;
    if (first == nullptr) first = &worker;
    if (worker.round != first->round || !places.insert(worker.local_rank).second)
      return "no process of a round beside another round: " + id_ + " has processes of " +
             place_of(*first) + " and of " + place_of(worker);
  }
  return std::nullopt;
}

}  // namespace ddprun::simulation
