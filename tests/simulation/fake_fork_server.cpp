#include "tests/simulation/fake_fork_server.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace ddprun::simulation {

namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr milliseconds kImportMax{6'000};
constexpr milliseconds kForkMax{30};
constexpr milliseconds kForkWhenSlowMax{45'000};  // the agent waits 30 s
constexpr milliseconds kRepeatMax{5'000};
constexpr int kDiesPercent = 2;  // at each point at which it may
constexpr int kSlowPercent = 4;
constexpr int kRepeatsPercent = 20;
constexpr int kRefusesPercent = 1;

}  // namespace

void FakeForkServer::begin() {
  world_.time.after(world_.random.time(0ms, kImportMax), [self = shared_from_this()] {
    self->births_.when_awake([self] {
      if (!self->alive_ || self->dies_now()) return;
      if (self->world_.random.chance(kRefusesPercent))
        return self->say(
            json{{"event", "refused"}, {"why", "a module has started threads"}}.dump());
      self->say(
          json{{"event", "ready"}, {"modules", json::array({"torch"})}, {"seconds", 1.5}}.dump());
    });
  });
}

void FakeForkServer::order(const std::string& packet) {
  const json order = json::parse(packet);
  const json& environment = order.at("environment");
  orders_.push_back({order.at("start"), order.at("worker"), order.at("last"),
                     std::stoi(environment.at("ROUND").get<std::string>()),
                     std::stoi(environment.at("LOCAL_RANK").get<std::string>())});
  if (!std::exchange(busy_, true)) soon([this] { fork_next(); });
}

/// After the time that a fork takes, if it is alive by then.
void FakeForkServer::soon(Timeline::Task task) {
  const bool slow = world_.random.chance(kSlowPercent);
  world_.time.after(world_.random.time(0ms, slow ? kForkWhenSlowMax : kForkMax),
                    [self = shared_from_this(), task = std::move(task)] {
                      self->births_.when_awake([self, task] {
                        if (self->alive_) task();
                      });
                    });
}

void FakeForkServer::fork_next() {
  if (dies_now()) return;
  const Forking next = orders_.front();
  orders_.pop_front();
  const pid_t pid = births_.fork(next.round, next.local_rank);
  waiting_.push_back(pid);
  forked_.push_back(pid);
  say(json{{"event", "forked"}, {"start", next.start}, {"worker", next.worker}, {"pid", pid}}
          .dump());
  busy_ = next.last || !orders_.empty();
  if (next.last)
    soon([this, start = next.start] { deliver(start); });
  else if (busy_)
    soon([this] { fork_next(); });
}

/// It may die when they are there, and before it has said so.
void FakeForkServer::deliver(std::size_t start) {
  if (dies_now()) return;
  say(json{{"event", "delivered"}, {"start", start}}.dump());
  waiting_.clear();  // they are the agent's
  busy_ = !orders_.empty();
  if (busy_) soon([this] { fork_next(); });
}

bool FakeForkServer::dies_now() {
  if (!world_.random.chance(kDiesPercent)) return false;
  kill();
  world_.time.after(world_.random.time(0ms, 5ms), [self = shared_from_this()] {
    self->births_.when_awake([self] { self->died_(); });
  });
  return true;
}

void FakeForkServer::kill() {
  if (!std::exchange(alive_, false)) return;
  for (const pid_t pid : std::exchange(waiting_, {})) births_.kill(pid);
}

/// A packet is on its way for a moment, and an order of packets is kept. What is repeated comes
/// late.
void FakeForkServer::say(std::string packet) {
  const auto deliver = [self = shared_from_this(), packet] {
    self->births_.when_awake([self, packet] { self->hears_(packet); });
  };
  world_.time.after(1ms, deliver);
  if (world_.random.chance(kRepeatsPercent))
    world_.time.after(world_.random.time(1ms, kRepeatMax), deliver);
}

}  // namespace ddprun::simulation
