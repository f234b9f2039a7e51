// World: one membership of a job, in which a training that may lose workers goes on. ElasticRun
// makes it.
#pragma once

#include <cstdint>
#include <ddprun/distributed_data_parallel.hpp>
#include <ddprun/elastic_batches.hpp>
#include <ddprun/heartbeat.hpp>
#include <ddprun/process_group.hpp>
#include <functional>
#include <memory>

namespace ddprun::sdk {

class WorldImpl;

/// The members of a job as long as they stay the same, and their group. Used by one thread.
class World {
 public:
  explicit World(WorldImpl& impl) : impl_{impl} {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// The group of all members. Keep no handle of it when the world is over.
  const ProcessGroup& group() const;
  int rank() const { return group().rank(); }
  int size() const { return group().size(); }

  /// Returns the module as one whose gradients are averaged over the members. It must be gone when
  /// the world is over. Errors: those of DistributedDataParallel.
  template <typename Module>
  DistributedDataParallel<Module> wrap(std::shared_ptr<Module> module,
                                       const DdpOptions& options = {}) {
    return {std::move(module), group(), options, reductions()};
  }
  template <typename Module>
  DistributedDataParallel<Module> wrap(const torch::nn::ModuleHolder<Module>& module,
                                       const DdpOptions& options = {}) {
    return wrap(module.ptr(), options);
  }

  /// Returns the next batch of the run's loader, an ElasticLoader. A step has parts() of them.
  /// Gradients are reduced with the last one, which is_last_part() tells; divide the loss by
  /// parts():
  ///
  ///     const auto guard = ddp.no_sync(!world.is_last_part());
  ///
  /// Errors: std::logic_error for a step that has passed without its update(), and for a loader
  /// that the run does not keep; those of ElasticLoader::next().
  template <typename Loader>
  auto next(Loader& loader) {
    begin_part(loader);
    return loader.next();
  }
  std::int64_t parts() const;
  bool is_last_part() const;

  /// Calls `change`, in which all is changed that belongs to the state: the optimizer's step() and
  /// zero_grad(), the schedule's step(). It counts as a whole, as one step, on all members or on
  /// none. Every step has one, behind the backward pass of its last part. Errors: std::logic_error
  /// where none is due; what `change` throws comes out, and leaves the state torn: it can be
  /// neither saved nor trained on. `loss` is the step's, for `ddprun status`; to read one waits for
  /// its device. It is not shown where the program has a Heartbeat that beats.
  void update(const std::function<void()>& change, double loss = Heartbeat::kNoLoss);

 private:
  void begin_part(const ElasticBatches& loader);
  std::shared_ptr<Reductions> reductions() const;

  WorldImpl& impl_;
};

}  // namespace ddprun::sdk
