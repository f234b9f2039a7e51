// A network in as many stages as there are ranks, against the whole one in one process.

#include "ddprun/pipeline.hpp"

#include "ddprun/distributed_data_parallel.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker_sdk/ranks.hpp"

namespace ddprun::sdk {
namespace {

using torch::nn::SequentialImpl;

constexpr int kWidth = 6;

/// Stage `number`, from its own seed, so that one process can have all of them.
std::shared_ptr<SequentialImpl> make_stage(int number) {
  torch::manual_seed(10 + number);
  return std::make_shared<SequentialImpl>(torch::nn::Linear(kWidth, kWidth), torch::nn::Tanh());
}

struct Batch {
  torch::Tensor input, target;
};

Batch rows_of_step(int step, int rows = 8) {
  torch::manual_seed(100 + step);
  return {torch::randn({rows, kWidth}), torch::randn({rows, kWidth})};
}

torch::Tensor mean_square(const torch::Tensor& output, const torch::Tensor& target) {
  return torch::mse_loss(output, target);
}

/// The whole network, in this process.
struct Whole {
  explicit Whole(int stages_count) {
    for (int i = 0; i < stages_count; ++i) stages.push_back(make_stage(i));
  }
  torch::Tensor forward(torch::Tensor x) {
    for (auto& stage : stages) x = stage->forward(x);
    return x;
  }
  double backward(const Batch& batch) {
    for (auto& stage : stages) stage->zero_grad();
    torch::Tensor loss = mean_square(forward(batch.input), batch.target);
    loss.backward();
    return loss.item<double>();
  }
  std::vector<std::shared_ptr<SequentialImpl>> stages;
};

void check_same_gradients(const SequentialImpl& stage, const SequentialImpl& expected) {
  const auto mine = stage.named_parameters();
  for (const auto& parameter : expected.named_parameters()) {
    INFO(parameter.key());
    CHECK(torch::allclose(mine[parameter.key()].grad(), parameter.value().grad(), 1e-5, 1e-6));
  }
}

TEST_CASE("a pipeline has the loss and the gradients of the whole network") {
  const int micro_batches = GENERATE(1, 2, 4);
  auto stage = make_stage(group().rank());
  Pipeline pipeline{*stage, group(), {.micro_batches = micro_batches}};
  Whole whole{group().size()};
  for (int step = 0; step < 3; ++step) {
    const Batch batch = rows_of_step(step, step < 2 ? 8 : 4);  // also of another size
    stage->zero_grad();
    const torch::Tensor loss =
        pipeline.step(pipeline.is_first() ? batch.input : torch::Tensor{},
                      pipeline.is_last() ? batch.target : torch::Tensor{}, mean_square);
    const double expected = whole.backward(batch);
    CHECK(loss.defined() == pipeline.is_last());
    if (loss.defined()) CHECK(loss.item<double>() == Approx(expected).epsilon(1e-5));
    check_same_gradients(*stage, *whole.stages[group().rank()]);
  }
}

TEST_CASE("forward alone gives the output of the whole network on the last stage") {
  auto stage = make_stage(group().rank());
  Pipeline pipeline{*stage, group()};
  const Batch batch = rows_of_step(0);
  const torch::Tensor output = pipeline.forward(batch.input);
  CHECK(output.defined() == pipeline.is_last());
  if (output.defined())
    CHECK(torch::allclose(output, Whole{group().size()}.forward(batch.input), 1e-5, 1e-6));
}

TEST_CASE("two pipelines of two stages with DDP between them have the gradients of both batches") {
  if (too_few_ranks(4)) return;
  const int stage_number = group().rank() % 2, replica = group().rank() / 2;
  // All ranks make all groups, in the same order.
  std::optional<ProcessGroup> pipeline_group, replicas;
  for (const std::vector<int>& ranks : {std::vector{0, 1}, {2, 3}})
    if (auto made = group().new_group(ranks)) pipeline_group = made;
  for (const std::vector<int>& ranks : {std::vector{0, 2}, {1, 3}})
    if (auto made = group().new_group(ranks)) replicas = made;

  auto stage = make_stage(stage_number);
  DistributedDataParallel<SequentialImpl> ddp{stage, *replicas};
  Pipeline pipeline{ddp, *pipeline_group};
  Whole whole{2};
  for (int step = 0; step < 3; ++step) {  // the buckets are rebuilt after the first
    const Batch batch = rows_of_step(step, 16);
    ddp.zero_grad();
    pipeline.step(batch.input.chunk(2)[replica], batch.target.chunk(2)[replica], mean_square);
    whole.backward(batch);
    check_same_gradients(*stage, *whole.stages[stage_number]);
  }
}

TEST_CASE("batches that cannot be cut, and too few micro-batches, are refused") {
  auto stage = make_stage(group().rank());
  CHECK_THROWS_WITH((Pipeline{*stage, group(), {.micro_batches = 0}}),
                    contains("0 micro-batches, expected 1 or more"));
  const auto alone = group().new_group({0});
  if (!alone) return;
  Pipeline pipeline{*stage, *alone};
  const Batch batch = rows_of_step(0, 6);
  CHECK_THROWS_WITH(pipeline.step(batch.input, batch.target, mean_square),
                    contains("the target has 6 rows, which cannot be cut into 4 equal"));
  CHECK_THROWS_WITH(pipeline.forward({}), contains("the input is missing or empty"));
}

}  // namespace
}  // namespace ddprun::sdk
