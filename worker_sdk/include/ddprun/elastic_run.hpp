// ElasticRun: a training whose state outlives its process group. A worker or a node is lost, and
// the others keep their processes, their models and their loaders: they leave their group, make
// another one and go on. Only the current step is done again.
//
//     ElasticRun run;
//     run.keep("model", *model);
//     run.keep("optimizer", optimizer);
//     run.keep("data", loader);                      // make_elastic_loader(data, {...})
//     if (std::filesystem::exists("run.safetensors"))
//       run.load_state_dict(load_safetensors("run.safetensors"));
//     run.worlds([&](World& world) {                 // once for each membership of the job
//       auto ddp = world.wrap(model);
//       while (run.step() < 1000) {
//         const auto batch = world.next(loader);
//         loss_of(ddp.forward(batch.inputs), batch.targets).backward();
//         world.update([&] {                         // counts on all workers or on none
//           optimizer.step();
//           ddp.zero_grad();
//         });
//         if (run.step() % 100 == 0 && world.rank() == 0)
//           save_safetensors("run.safetensors", run.state_dict());
//       }
//     });
//
// It stands to C++ as ddprun.ElasticRun to Python, and follows the same rules (docs/in-place.md).
// What a step changes is changed within World::update(); each step reduces something over all
// members before that, as DistributedDataParallel does.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <ddprun/process_group.hpp>
#include <ddprun/safetensors.hpp>
#include <ddprun/stateful.hpp>
#include <ddprun/world.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace ddprun::sdk {

struct ElasticOptions {
  /// Seeds LibTorch's generators before each step that World::next() begins, from this number, the
  /// step and the rank, so that a step which is done again draws the same numbers. Not set: it
  /// leaves them alone.
  std::optional<std::int64_t> seed = {};
  /// Whether the training can go on with another number of workers, in place. false if the state
  /// belongs to their number, as that of a sharded model does: it then goes on with as many, or is
  /// restarted.
  bool resize = true;
  /// How many steps the training has, in all worlds together, for `ddprun status`; 0: not told.
  std::int64_t steps = 0;
};

/// The state of a training, which its members have in common, and the worlds that it passes
/// through. Used by one thread. Without ddprun there is one world for each start of the workers,
/// and without a launcher one of this process.
class ElasticRun {
 public:
  explicit ElasticRun(const ElasticOptions& options = {});
  ~ElasticRun();
  ElasticRun(const ElasticRun&) = delete;
  ElasticRun& operator=(const ElasticRun&) = delete;

  /// Adds a part to the state, before it is loaded and before the first world; the part must
  /// outlive this. An ElasticLoader among them is the place in the data. Errors:
  /// std::invalid_argument for a name that is taken, or has a slash in it.
  void keep(const std::string& name, torch::nn::Module& module);
  void keep(const std::string& name, torch::optim::Optimizer& optimizer);
  void keep(const std::string& name, Stateful& part);

  /// How many steps have been counted.
  std::int64_t step() const;

  /// Returns the state, for save_safetensors(). The tensors are the parts' own, not copies. Errors:
  /// std::logic_error within an update, or after one that has failed; std::invalid_argument for an
  /// optimizer that optimizer_state() does not know.
  SafeTensors state_dict() const;

  /// Goes on from a state that was saved, before the first world. Workers may load different ones:
  /// those with a smaller step get the state of the greatest when they enter the world. Errors:
  /// std::invalid_argument for a state that does not fit the parts.
  void load_state_dict(const SafeTensors& state);

  /// Calls `train` once for each membership of the job, and returns when the training has ended on
  /// all members. `options` are those of init_process_group(); the timeout is for entering, too.
  /// Errors: what `train` throws, unless it comes from a change of the members; those of
  /// init_process_group(); std::runtime_error where members keep different parts, or no worker has
  /// a whole state, and for a world of another size where `resize` is false.
  void worlds(const std::function<void(World&)>& train, const ProcessGroupOptions& options = {});

 private:
  friend class WorldImpl;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ddprun::sdk
