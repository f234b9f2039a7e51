// WorldImpl: how a world is entered, how a step of it is counted, and how it is left.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "ddprun/elastic_run.hpp"
#include "ddprun/world.hpp"
#include "worker_sdk/elastic/agent_line.hpp"
#include "worker_sdk/elastic/elastic_state.hpp"
#include "worker_sdk/elastic/light_copy.hpp"
#include "worker_sdk/elastic/meeting.hpp"
#include "worker_sdk/elastic/membership.hpp"
#include "worker_sdk/elastic/world_connections.hpp"

namespace ddprun::sdk {

class WorldImpl {
 public:
  WorldImpl(ElasticRun::State& run, WorldPlace place, const ProcessGroupOptions& options);
  ~WorldImpl();
  WorldImpl(const WorldImpl&) = delete;
  WorldImpl& operator=(const WorldImpl&) = delete;

  /// Enters the world, calls `train` in it, and leaves it. Returns where this worker goes on;
  /// nullopt: the training has ended. Errors: those of ElasticRun::worlds().
  std::optional<Entrance> pass(const std::function<void(World&)>& train);

  const ProcessGroup& group() const { return *group_; }
  const std::shared_ptr<Reductions>& reductions() const { return reductions_; }
  std::int64_t parts() const;
  bool is_last_part() const { return part_ == parts(); }
  void begin_part(const ElasticBatches& loader);
  void update(const std::function<void()>& change, double loss);

 private:
  void enter();
  Line synchronize(const Meeting& meeting);
  bool transfer(const Meeting& meeting, const Line& line, int attempt);
  void compare_states(const Meeting& meeting) const;
  void seed_step() const;
  void require_results() const;
  void require_reduced() const;
  void begin_update();
  void drop_update();
  void end_update(bool well);
  void end_loop();
  void await_limit(std::unique_lock<std::mutex>& lock) const;
  void await_members() const;
  bool meets_members() const;
  bool comes_from_change() const;
  bool frees_gpu() const;
  void leave(bool orderly);
  [[noreturn]] void fail_without_order() const;

  ElasticRun::State& run_;
  WorldPlace place_;
  ProcessGroupOptions options_;
  std::shared_ptr<WorldConnections> connections_ =
      std::make_shared<WorldConnections>(place_.env.world_size);
  std::shared_ptr<Reductions> reductions_ = std::make_shared<Reductions>();
  std::optional<ProcessGroup> group_;
  std::optional<LightCopy> light_copy_;  // not set: no step is ever dropped
  std::int64_t part_ = 0;                // batches that were given for the current step
};

}  // namespace ddprun::sdk
