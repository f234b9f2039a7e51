#include "ddprun/elastic_run.hpp"

#include <pthread.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

#include "worker_sdk/elastic/elastic_state.hpp"
#include "worker_sdk/elastic/standstill.hpp"
#include "worker_sdk/elastic/world_impl.hpp"
#include "worker_sdk/group/gpu_groups.hpp"

namespace ddprun::sdk {

namespace {

/// Until who is about to enter is freed once more: its connections may only just appear.
constexpr std::chrono::milliseconds kFreeingTime{20};

constexpr char kRound[] = "round";
constexpr char kStep[] = "step";

std::int64_t number_of(const SafeTensors& state, const std::string& name) {
  const auto found = state.metadata.find(name);
  const std::string text = found == state.metadata.end() ? "" : found->second;
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0)
    throw std::invalid_argument{"ElasticRun: the state has the " + name + " '" + text +
                                "', expected a number from 0 up"};
  return number;
}

WorldPlace place_in(const Entrance& entrance) {
  for (const auto& [name, value] : entrance.environment) setenv(name.c_str(), value.c_str(), 1);
  return WorldPlace::from_environment();
}

/// A worker that was started beside a round has its place in the one that it is ordered to enter.
WorldPlace first_place(AgentLine* line) {
  if (line == nullptr)
    throw std::runtime_error{
        "this worker was started beside a round, and its agent does not answer"};
  return place_in(line->first_entrance());
}

}  // namespace

ElasticRun::ElasticRun(const ElasticOptions& options) : state_{std::make_unique<State>(options)} {}

ElasticRun::~ElasticRun() = default;

void ElasticRun::keep(const std::string& name, torch::nn::Module& module) {
  state_->parts.add(name, module);
}

void ElasticRun::keep(const std::string& name, torch::optim::Optimizer& optimizer) {
  state_->parts.add(name, optimizer);
}

void ElasticRun::keep(const std::string& name, Stateful& part) { state_->parts.add(name, part); }

std::int64_t ElasticRun::step() const { return state_->membership.name().step; }

SafeTensors ElasticRun::state_dict() const {
  state_->membership.require_whole("state_dict()");
  SafeTensors state = state_->parts.state();
  state.metadata[kRound] = std::to_string(state_->membership.name().round);
  state.metadata[kStep] = std::to_string(state_->membership.name().step);
  return state;
}

void ElasticRun::load_state_dict(const SafeTensors& state) {
  state_->membership.load({number_of(state, kRound), number_of(state, kStep)});
  state_->parts.restore(state);
}

void ElasticRun::worlds(const std::function<void(World&)>& train,
                        const ProcessGroupOptions& options) {
  WorldPlace place = WorldPlace::from_environment();
  pthread_getcpuclockid(pthread_self(), &state_->processor_time);
  const bool begins_parked = environment_lookup(env::kParked).value_or("") != "";
  unsetenv(env::kParked);
  state_->line = AgentLine::connect(begins_parked ? kNoRound : place.round, state_->options.resize,
                                    state_->orders());
  if (begins_parked) place = first_place(state_->line.get());
  if (state_->line) keep_process_without_members();
  try {
    for (;;) {
      const auto entrance = WorldImpl{*state_, place, options}.pass(train);
      if (!entrance) break;
      place = place_in(*entrance);
    }
  } catch (...) {
    state_->line.reset();
    throw;
  }
  state_->line.reset();
}

AgentLine::Orders ElasticRun::State::orders() {
  const auto hold = [this](std::int64_t round) {
    const std::lock_guard lock{mutex};
    return membership.hold(round);
  };
  const auto leave_after = [this](std::int64_t round, std::int64_t step) {
    const std::lock_guard lock{mutex};
    membership.leave_after(round, step);
    hold_ends.notify_all();
  };
  const auto leave = [this](const AgentLine& from, std::int64_t round) { end_world(from, round); };
  const auto end_hold = [this] {
    const std::lock_guard lock{mutex};
    membership.end_hold();
    hold_ends.notify_all();
  };
  return {hold, leave_after, leave, end_hold};
}

void ElasticRun::State::begin_training(std::int64_t line_round) {
  std::optional<std::int64_t> owed;
  {
    const std::lock_guard lock{mutex};
    owed = membership.begin_training(line_round);
  }
  if (owed && line) line->say_holding(membership.world(), *owed);
}

void ElasticRun::State::end_world(const AgentLine& from, std::int64_t round) {
  {
    const std::lock_guard lock{mutex};
    membership.end_round(round);
    hold_ends.notify_all();
  }
  const auto ran = [this] {
    timespec time{};
    clock_gettime(processor_time, &time);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
  };
  Standstill standstill{waits_for_ranks(), ran(), std::chrono::steady_clock::now()};
  while (membership.is_told_to_leave()) {
    std::shared_ptr<WorldConnections> entered;
    {
      const std::lock_guard lock{mutex};
      entered = connections;
    }
    const bool is_entering = membership.place() == Membership::Place::kEntering;
    if (is_entering) entered->note();
    abort_gpu_groups();
    entered->shut_down();
    if (is_entering) entered->hang_up_for_members();
    if (entered->await_close(kFreeingTime)) return;
    if (standstill.is_new(waits_for_ranks(), ran(), std::chrono::steady_clock::now()))
      from.say_stuck(round);
  }
}

}  // namespace ddprun::sdk
