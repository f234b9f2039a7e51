#include "tests/simulation/fork_server_shell.hpp"

#include <iterator>
#include <utility>

#include "agent/workers/fork_server_protocol.hpp"
#include "base/match.hpp"

namespace ddprun::simulation {

namespace {

using namespace std::chrono_literals;

// As in agent/workers/fork_server.cpp.
constexpr auto kImportTimeout = 120s;
constexpr auto kForkTimeout = 30s;

std::string order_of(const ForkServerShell::Child& child, const OrderPlace& place) {
  const Command worker{.program = "",
                       .arguments = {},
                       .environment = {"ROUND=" + std::to_string(child.round),
                                       "LOCAL_RANK=" + std::to_string(child.local_rank)},
                       .placement = {}};
  return encode_order(worker, place, {});
}

std::vector<pid_t> none_of(const auto& start) {
  return std::vector<pid_t>(start.children.size(), -1);
}

}  // namespace

void ForkServerShell::begin() {
  if (server_ || given_up_) return;
  ready_ = false;
  const int number = ++servers_;
  server_ = std::make_shared<FakeForkServer>(
      world_, births_,
      [this, number](const std::string& packet) {
        if (is_there(number)) hear(packet);
      },
      [this, number] {
        if (is_there(number)) server_died();
      });
  server_->begin();
  world_.time.after(kImportTimeout, [this, number] {
    births_.when_awake([this, number] {
      if (is_there(number) && !ready_) give_up();
    });
  });
}

/// One that never came so far is not followed by another, which may not either.
void ForkServerShell::server_died() {
  end();
  if (ready_) begin();
}

void ForkServerShell::hear(const std::string& packet) {
  const auto event = decode_fork_server_event(packet);
  if (!event) return give_up();
  match(
      *event,  //
      [](const LeftOut&) {}, [&](const ForkServerRefuses&) { give_up(); },
      [&](const ForkServerReady&) { ready_ = true; }, [&](const Forked& e) { turns_.hear(e); },
      [&](const Delivered& e) { turns_.hear(e); });
  go_on_later();
}

void ForkServerShell::give_up() {
  given_up_ = true;
  end();
}

void ForkServerShell::end() {
  if (!server_) return;
  std::exchange(server_, nullptr)->kill();
  go_on_later();
}

void ForkServerShell::look_again() { go_on_later(); }

void ForkServerShell::spawn(std::vector<Child> children, std::function<bool()> unwanted,
                            Started started) {
  waiting_.push_back({std::move(children), std::move(unwanted), std::move(started)});
  go_on_later();
}

/// The event loop wakes waiting coroutines, not the code that changes something.
void ForkServerShell::go_on_later() {
  world_.time.after(0ms, [this] { births_.when_awake([this] { go_on(); }); });
}

void ForkServerShell::go_on() {
  leave_queue();
  if (stage_ == Stage::kNone) next_turn();
  if (stage_ == Stage::kLoading) load();
  if (stage_ == Stage::kForking && (forks_ != server_ || turns_.is_delivered())) finish();
}

/// Starts that wait for their turn end as soon as nobody wants them.
void ForkServerShell::leave_queue() {
  if (stage_ == Stage::kNone) return;
  std::deque<Start> waiting;
  for (Start& start : std::exchange(waiting_, {})) {
    if (start.unwanted())
      start.started(none_of(start));
    else
      waiting.push_back(std::move(start));
  }
  waiting_.insert(waiting_.begin(), std::move_iterator{waiting.begin()},
                  std::move_iterator{waiting.end()});
}

void ForkServerShell::next_turn() {
  if (waiting_.empty() || !turns_.take()) return;
  current_ = std::move(waiting_.front());
  waiting_.pop_front();
  begin();
  stage_ = Stage::kLoading;
}

void ForkServerShell::load() {
  const bool unwanted = current_->unwanted();
  if (server_ && !ready_ && !unwanted) return;
  if (unwanted) return finish_with(none_of(*current_));
  stage_ = Stage::kForking;
  fork_all();
}

void ForkServerShell::fork_all() {
  const auto& children = current_->children;
  const std::size_t start = turns_.begin(children.size());
  forks_ = server_;
  if (!server_) return finish();
  for (std::size_t i = 0; i < children.size(); ++i)
    server_->order(order_of(children[i], {start, i, i + 1 == children.size()}));
  world_.time.after(kForkTimeout, [this, begun = ++forkings_] {
    births_.when_awake([this, begun] {
      if (stage_ == Stage::kForking && begun == forkings_ && forks_ == server_) end();
    });
  });
}

void ForkServerShell::finish() {
  const ForkedFate fate = turns_.fate(current_->unwanted());
  std::vector<pid_t> pids = turns_.forked();
  if (fate == ForkedFate::kTaken) {
    for (const pid_t pid : pids) births_.let_go(pid);
    return finish_with(pids);
  }
  for (pid_t& pid : pids) births_.kill(std::exchange(pid, -1));
  if (fate == ForkedFate::kStartedAnew)
    for (std::size_t i = 0; i < pids.size(); ++i) {
      pids[i] = births_.fork(current_->children[i].round, current_->children[i].local_rank);
      births_.let_go(pids[i]);
    }
  finish_with(pids);
}

void ForkServerShell::finish_with(const std::vector<pid_t>& pids) {
  if (forks_) births_.close_gate(forks_->take_forked());
  const Start done = std::move(*current_);
  current_.reset();
  stage_ = Stage::kNone;
  forks_ = nullptr;
  turns_.give_back();
  done.started(pids);
  go_on_later();
}

}  // namespace ddprun::simulation
