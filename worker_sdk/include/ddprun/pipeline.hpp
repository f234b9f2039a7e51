// Pipeline: trains a model that is too big for one worker. Each rank has one stage of it; while a
// stage works on a part of the batch, the next stage works on the part before.
//
// The schedule is GPipe's (https://arxiv.org/abs/1811.06965): all forward passes, then all backward
// passes; torch.distributed.pipelining has it as ScheduleGPipe
// (https://docs.pytorch.org/docs/stable/distributed.pipelining.html).
#pragma once

#include <torch/torch.h>

#include <ddprun/process_group.hpp>
#include <functional>
#include <memory>
#include <vector>

namespace ddprun::sdk {

/// How the batch is cut.
struct PipelineOptions {
  /// The number of equal parts that the batch is cut into along its first dimension. Stages are
  /// idle for (stages - 1) / (micro_batches + stages - 1) of the time, so more parts waste less.
  int micro_batches = 4;
};

/// Stage i runs on rank i of `group`, which is a sub-group where several pipelines make up the job.
/// Stages are modules whose forward() takes a tensor and returns one, of any shape up to 8
/// dimensions and any floating dtype, on group.device(). Each rank has its own stage and its own
/// optimizer. A stage may be a DistributedDataParallel over a group of the same stages of several
/// pipelines, which then reduces once a step. Errors of all methods: std::invalid_argument for a
/// batch that cannot be cut into equal parts; CommunicationError.
class Pipeline {
 public:
  /// Takes the last stage's output and the target of one micro-batch; returns the mean loss over
  /// it.
  using Loss =
      std::function<torch::Tensor(const torch::Tensor& output, const torch::Tensor& target)>;

  /// `stage` must outlive it. Errors: std::invalid_argument for `micro_batches` below 1.
  template <typename Module>
  Pipeline(Module& stage, const ProcessGroup& group, const PipelineOptions& options = {})
      : Pipeline{parts_of(stage), group, options} {}

  /// Computes forward and backward passes over a whole batch, and adds to the gradients of every
  /// stage what the whole model would have got. All ranks call it. `input`, [N, ...], counts on the
  /// first stage, and `target`, [N, ...], and `loss` on the last; elsewhere they may be undefined.
  /// Returns the mean loss, a scalar without graph, on the last stage, and an undefined tensor
  /// elsewhere.
  torch::Tensor step(const torch::Tensor& input, const torch::Tensor& target, const Loss& loss);

  /// Computes the forward pass alone, without gradients. All ranks call it. Returns the output,
  /// [N, ...], on the last stage, and an undefined tensor elsewhere.
  torch::Tensor forward(const torch::Tensor& input);

  /// True on the rank of the first stage, which reads the inputs.
  bool is_first() const { return group_.rank() == 0; }
  /// True on the rank of the last stage, which computes the loss.
  bool is_last() const { return group_.rank() == group_.size() - 1; }

 private:
  struct Stage {
    std::function<torch::Tensor(torch::Tensor)> forward;
    std::function<void()> before_last_backward;
  };

  template <typename Module>
  static Stage parts_of(Module& stage) {
    if constexpr (requires { stage.no_sync(); })
      return {[&stage](torch::Tensor x) {
                const auto guard = stage.no_sync();
                return stage.forward(std::move(x));
              },
              [&stage] { stage.reduce_in_next_backward(); }};
    else
      return {[&stage](torch::Tensor x) { return stage.forward(std::move(x)); }, [] {}};
  }

  Pipeline(Stage stage, const ProcessGroup& group, const PipelineOptions& options);

  std::vector<torch::Tensor> inputs(const torch::Tensor& input);
  std::vector<torch::Tensor> parts(const torch::Tensor& batch, const char* name) const;
  std::vector<torch::Tensor> run_forward(const std::vector<torch::Tensor>& inputs);
  void run_backward(const std::vector<torch::Tensor>& inputs,
                    const std::vector<torch::Tensor>& outputs);
  void hand_on(const torch::Tensor& output, bool is_first_part);
  torch::Tensor next_input(std::size_t part);
  void receive_shape();
  void finish_sends();

  Stage stage_;
  ProcessGroup group_;
  std::size_t micro_batches_;
  std::vector<torch::Tensor> arriving_;  // inputs of this step from the stage before
  std::vector<Work> arrivals_;
  std::vector<Work> sends_;
};

}  // namespace ddprun::sdk
