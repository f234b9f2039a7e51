// Autocast and GradScaler on several ranks, and clipping between them.

#include "ddprun/mixed_precision.hpp"

#include <ATen/autocast_mode.h>

#include "ddprun/distributed_data_parallel.hpp"
#include "ddprun/gradient_clipping.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker_sdk/ranks.hpp"

namespace ddprun::sdk {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

torch::nn::Linear make_linear() {
  torch::manual_seed(3);
  return torch::nn::Linear{4, 2};
}

struct MixedTraining {
  MixedTraining(const GradScalerOptions& options) : scaler{options} {}

  /// One step of DDP on rank-dependent rows; `factor` makes gradients as big as you like.
  bool step(double factor = 1) {
    ddp.zero_grad();
    torch::Tensor loss;
    {
      const Autocast autocast{torch::kCPU};
      loss = ddp.forward(torch::full({2, 4}, group().rank() + 1.0)).to(torch::kFloat32).sum();
    }
    scaler.scale(loss * factor).backward();
    const bool stepped = scaler.step(optimizer);
    scaler.update();
    return stepped;
  }

  torch::nn::Linear linear = make_linear();
  DistributedDataParallel<torch::nn::LinearImpl> ddp{linear.ptr(), group()};
  torch::optim::SGD optimizer{linear->parameters(), 0.1};
  GradScaler scaler;
};

TEST_CASE("Autocast computes matrix products in its dtype, and ends with its scope") {
  auto linear = make_linear();
  const torch::Tensor x = torch::ones({1, 4});
  {
    const Autocast low{torch::kCPU};
    CHECK(linear(x).scalar_type() == torch::kBFloat16);
    CHECK(torch::mse_loss(linear(x), torch::zeros({1, 2})).scalar_type() == torch::kFloat32);
    {
      const Autocast half{torch::kCPU, torch::kFloat16};
      CHECK(linear(x).scalar_type() == torch::kFloat16);
      const Autocast off{torch::kCPU, torch::kFloat16, false};
      CHECK(linear(x).scalar_type() == torch::kFloat32);
    }
    CHECK(linear(x).scalar_type() == torch::kBFloat16);
  }
  CHECK(linear(x).scalar_type() == torch::kFloat32);
}

TEST_CASE("without a dtype, Autocast takes Python's: float16 on CUDA, bfloat16 on the CPU") {
  {
    const Autocast on_gpu{torch::kCUDA};
    CHECK(at::autocast::get_autocast_dtype(torch::kCUDA) == torch::kFloat16);
  }
  const Autocast half{torch::kCPU, torch::kFloat16};
  CHECK(at::autocast::get_autocast_dtype(torch::kCPU) == torch::kFloat16);
  const Autocast inner{torch::kCPU};  // as in Python, that of the scope around it
  CHECK(at::autocast::get_autocast_dtype(torch::kCPU) == torch::kFloat16);
}

TEST_CASE("Autocast does not keep old copies of the weights") {
  auto linear = make_linear();
  const auto forward = [&] {
    const Autocast low{torch::kCPU};
    return linear(torch::ones({1, 4}));
  };
  const torch::Tensor before = forward();
  torch::NoGradGuard no_grad;
  linear->bias.add_(1);
  CHECK_FALSE(torch::equal(forward(), before));
}

TEST_CASE("Autocast refuses what is not a low precision") {
  CHECK_THROWS_WITH(Autocast(torch::kCPU, torch::kInt8),
                    contains("dtype Char, expected Half or BFloat16"));
}

TEST_CASE("with autocast, DDP's gradients are float32 and the same on all ranks") {
  MixedTraining training{{.enabled = false}};
  CHECK(training.step());
  const torch::Tensor gradient = training.linear->weight.grad();
  CHECK(gradient.scalar_type() == torch::kFloat32);
  CHECK(torch::allclose(gradient, torch::full({2, 4}, group().size() + 1.0)));  // 2 rows a rank
}

TEST_CASE("a scaled step is the step without a scaler") {
  MixedTraining scaled{{.init_scale = 1024}};
  MixedTraining plain{{.enabled = false}};
  for (int i = 0; i < 3; ++i) {
    CHECK(scaled.step());
    CHECK(plain.step());
  }
  CHECK(torch::allclose(scaled.linear->weight, plain.linear->weight));
}

TEST_CASE("an overflow on one rank leaves the step out on all, and halves the scale") {
  MixedTraining training{{.init_scale = 1024}};
  const torch::Tensor before = training.linear->weight.detach().clone();
  CHECK_FALSE(training.step(group().rank() == group().size() - 1 ? kInf : 1));
  CHECK(torch::equal(training.linear->weight, before));
  CHECK(training.scaler.get_scale() == 512);
  CHECK(training.step());
  CHECK_FALSE(torch::equal(training.linear->weight, before));
}

TEST_CASE("unscale shows gradients as they are, for clipping, and step does not do it again") {
  MixedTraining training{{.init_scale = 256}};
  training.scaler.scale(training.ddp.forward(torch::ones({1, 4})).sum()).backward();
  CHECK(torch::allclose(training.linear->bias.grad(), torch::full({2}, 256.0)));
  training.scaler.unscale(training.optimizer);
  CHECK(torch::allclose(training.linear->bias.grad(), torch::ones({2})));
  // 8 weights and 2 biases with a gradient of 1 each
  CHECK(torch::nn::utils::clip_grad_norm_(training.linear->parameters(), 1.0) ==
        Approx(std::sqrt(10.0)));
  CHECK(training.scaler.step(training.optimizer));
  CHECK(torch::allclose(training.linear->bias.grad(), torch::full({2}, 1 / std::sqrt(10.0))));
}

TEST_CASE("the scaler's state goes into a checkpoint and comes back") {
  MixedTraining first{{.init_scale = 64, .growth_interval = 3}};
  first.step();
  first.step();
  MixedTraining second{{.growth_interval = 3}};
  second.scaler.load(first.scaler.state());
  second.step();
  CHECK(second.scaler.get_scale() == 128);
}

TEST_CASE("calls of the scaler in a wrong order are refused") {
  MixedTraining training{{}};
  GradScaler& scaler = training.scaler;
  CHECK_THROWS_WITH(scaler.update(), contains("update() without an unscale() or step()"));
  training.ddp.forward(torch::ones({1, 4})).sum().backward();
  scaler.unscale(training.optimizer);
  CHECK_THROWS_WITH(scaler.unscale(training.optimizer), contains("unscale() twice"));
  scaler.step(training.optimizer);
  CHECK_THROWS_WITH(scaler.step(training.optimizer), contains("step() twice"));
  CHECK_THROWS_WITH(GradScaler({.growth_factor = 1}),
                    contains("growth_factor is 1.000000, expected more than 1"));
}

TEST_CASE("the norm of gradients that are spread over ranks is that of all of them") {
  torch::Tensor mine = torch::zeros({3}, torch::requires_grad());
  mine.mutable_grad() = torch::full({3}, 2.0);
  const double expected = std::sqrt(12.0 * group().size());
  CHECK(clip_grad_norm({mine}, 1000, group()) == Approx(expected));
  CHECK(torch::equal(mine.grad(), torch::full({3}, 2.0)));
  CHECK(clip_grad_norm({mine}, 1, group()) == Approx(expected));
  CHECK(clip_grad_norm({mine}, 1000, group()) == Approx(1).epsilon(1e-4));
}

TEST_CASE("gradients whose norm is no number are no numbers afterwards, for the loss to show it") {
  torch::Tensor mine = torch::zeros({3}, torch::requires_grad());
  mine.mutable_grad() = torch::full({3}, std::numeric_limits<double>::quiet_NaN());
  torch::Tensor other = torch::zeros({3}, torch::requires_grad());
  other.mutable_grad() = torch::ones({3});
  CHECK(std::isnan(clip_grad_norm({mine, other}, 1, group())));
  CHECK(other.grad().isnan().all().item<bool>());
}

TEST_CASE("one optimizer's overflow makes the scale smaller, whichever one it is") {
  for (const std::size_t overflows : {0, 1}) {
    std::vector<torch::Tensor> parameters{torch::zeros({3}, torch::requires_grad()),
                                          torch::zeros({3}, torch::requires_grad())};
    torch::optim::SGD first{{parameters[0]}, 0.1};
    torch::optim::SGD second{{parameters[1]}, 0.1};
    GradScaler scaler{{.init_scale = 2}};
    for (std::size_t i = 0; i < 2; ++i)
      parameters[i].mutable_grad() = torch::full({3}, i == overflows ? kInf : 1);
    CHECK(scaler.step(first) == (overflows != 0));
    CHECK(scaler.step(second) == (overflows != 1));
    scaler.update();
    CHECK(scaler.get_scale() == 1);
  }
}

TEST_CASE("the scale grows only after as many steps in a row as it should") {
  MixedTraining training{{.init_scale = 64, .growth_interval = 3}};
  training.step();
  training.step();
  training.step(kInf);
  CHECK(training.scaler.get_scale() == 32);
  training.step();
  training.step();
  CHECK(training.scaler.get_scale() == 32);
  training.step();
  CHECK(training.scaler.get_scale() == 64);
}

TEST_CASE("where ranks hold different parameters, an overflow on one stops the others, too") {
  torch::Tensor mine = torch::zeros({3}, torch::requires_grad());
  torch::optim::SGD optimizer{{mine}, 0.1};
  GradScaler scaler{{.init_scale = 2, .shards = group()}};
  mine.mutable_grad() = torch::full({3}, group().rank() == 0 ? kInf : 1);
  CHECK_FALSE(scaler.step(optimizer));
  scaler.update();
  CHECK(scaler.get_scale() == 1);
}

}  // namespace
}  // namespace ddprun::sdk
