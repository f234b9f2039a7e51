// Pipeline: a model too big for one worker, cut into stages, one a rank. While one stage works on a
// part of the batch, the next works on the part before it.
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

struct PipelineOptions {
  /// The batch is cut into so many equal parts along its first dimension. More of them leave the
  /// stages idle for less time: (stages - 1) / (micro_batches + stages - 1) of it.
  int micro_batches = 4;
};

/// Stage i runs on rank i of `group`: a sub-group, where several pipelines make up the job. Stages
/// are modules whose forward() takes a tensor and returns one, of any shape and floating dtype, on
/// group.device(); each rank has its own and its own optimizer. A stage may be a
/// DistributedDataParallel over a group of the same stages of several pipelines, which then reduces
/// once a step. Errors of all methods: std::invalid_argument for a batch that cannot be cut into
/// equal parts; CommunicationError.
class Pipeline {
 public:
  /// From the last stage's output and the target of one micro-batch to the mean loss over it.
  using Loss =
      std::function<torch::Tensor(const torch::Tensor& output, const torch::Tensor& target)>;

  /// `stage` must outlive it. Errors: std::invalid_argument for `micro_batches` below 1.
  template <typename Module>
  Pipeline(Module& stage, const ProcessGroup& group, const PipelineOptions& options = {})
      : Pipeline{parts_of(stage), group, options} {}

  /// Forward and backward over a whole batch; adds to the gradients of every stage what the whole
  /// model would have got. `input`, [N, ...], counts on the first stage, `target`, [N, ...], and
  /// `loss` on the last; elsewhere they may be left undefined. Returns the mean loss, a scalar
  /// without graph, on the last stage, an undefined tensor elsewhere. Called on all ranks.
  torch::Tensor step(const torch::Tensor& input, const torch::Tensor& target, const Loss& loss);

  /// Forward alone, without gradients: the output, [N, ...], on the last stage, an undefined tensor
  /// elsewhere. Called on all ranks.
  torch::Tensor forward(const torch::Tensor& input);

  bool is_first() const { return group_.rank() == 0; }
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
