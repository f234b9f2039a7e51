// checkpoint() beside the same model without it: the same gradients, to the bit.

#include "ddprun/activation_checkpoint.hpp"

#include <memory>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "ddprun/distributed_data_parallel.hpp"
#include "ddprun/mixed_precision.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker_sdk/ranks.hpp"

namespace ddprun::sdk {
namespace {

using torch::Tensor;
using Tensors = std::vector<Tensor>;

struct BlockImpl : torch::nn::Module {
  BlockImpl() {
    first = register_module("first", torch::nn::Linear(8, 16));
    second = register_module("second", torch::nn::Linear(16, 8));
  }
  Tensor forward(const Tensor& x) {
    return x + second(torch::dropout(torch::gelu(first(x)), 0.3, is_training()));
  }
  torch::nn::Linear first{nullptr}, second{nullptr};
};
TORCH_MODULE(Block);

/// Three blocks between two layers. With `repeats`, each block is used that often.
struct Network : torch::nn::Module {
  explicit Network(bool checkpointed, int uses = 1) : in_parts{checkpointed}, repeats{uses} {
    torch::manual_seed(3);
    begin = register_module("begin", torch::nn::Linear(4, 8));
    for (int i = 0; i < 3; ++i) blocks->push_back(Block());
    register_module("blocks", blocks);
    end = register_module("end", torch::nn::Linear(8, 2));
    to(group().device());
  }

  Tensor forward(Tensor x) {
    x = begin(x);
    for (int i = 0; i < repeats; ++i)
      for (const auto& one : *blocks) {
        const auto run = [one](const Tensor& y) { return one->as<Block>()->forward(y); };
        x = in_parts ? checkpoint(run, x) : run(x);
      }
    return end(x);
  }

  bool in_parts;
  int repeats;
  torch::nn::Linear begin{nullptr}, end{nullptr};
  torch::nn::ModuleList blocks;
};

/// This rank's inputs of a step.
Tensor inputs_of(int step) {
  torch::manual_seed(100 * step + group().rank());
  return torch::randn({5, 4}).to(group().device());
}

void check_same(const Tensors& ours, const Tensors& expected) {
  REQUIRE(ours.size() == expected.size());
  for (std::size_t i = 0; i < ours.size(); ++i) CHECK(torch::equal(ours[i], expected[i]));
}

Tensors gradients_of(const torch::nn::Module& module) {
  Tensors gradients;
  for (const Tensor& parameter : module.parameters()) gradients.push_back(parameter.grad());
  return gradients;
}

/// Output, gradients, and the number that comes next from the generator.
Tensors pass(Network& network, bool in_half) {
  network.zero_grad();
  const Tensor inputs = inputs_of(1).requires_grad_();
  Tensor output;
  {
    const Autocast autocast{inputs.device().type(), torch::kBFloat16, in_half};
    output = network.forward(inputs).to(torch::kFloat32).pow(2).mean();
  }
  output.backward();
  Tensors seen = gradients_of(network);
  seen.insert(seen.end(), {output.detach(), inputs.grad(), torch::rand({1})});
  return seen;
}

TEST_CASE("a checkpointed model has the gradients of the plain one to the bit, with its dropout") {
  const bool in_half = GENERATE(false, true);
  Network plain{false}, in_parts{true};
  check_same(pass(in_parts, in_half), pass(plain, in_half));
}

TEST_CASE("what lies between goes with the forward pass, and is computed again in the backward") {
  int calls = 0;
  c10::weak_intrusive_ptr<c10::TensorImpl> between{Tensor{}.getIntrusivePtr()};
  const Tensor x = torch::ones({3}, torch::requires_grad());
  const auto part = [&](const Tensor& y) {
    ++calls;
    const Tensor hidden = y.exp();
    between = c10::weak_intrusive_ptr<c10::TensorImpl>{hidden.getIntrusivePtr()};
    return hidden.sin();
  };
  const Tensor plain = part(x);
  CHECK_FALSE(between.expired());
  const Tensor output = checkpoint(part, x);
  CHECK(between.expired());
  CHECK(calls == 2);
  output.sum().backward();
  CHECK(calls == 3);
  const Tensor gradient = x.grad().clone();
  x.mutable_grad().reset();
  plain.sum().backward();
  CHECK(torch::equal(gradient, x.grad()));
}

TEST_CASE("parameters get their gradients also if no input needs one") {
  torch::nn::Linear layer{3, 2};
  const auto part = [layer](const Tensor& x) mutable { return layer(x); };
  checkpoint(part, torch::ones({4, 3})).sum().backward();
  CHECK(torch::equal(layer->bias.grad(), torch::full({2}, 4.0)));
}

TEST_CASE("several inputs and outputs, of which some need no gradient and some are not used") {
  const Tensor x = torch::full({2}, 3.0, torch::requires_grad());
  const Tensor y = torch::full({2}, 5.0, torch::requires_grad());
  const Tensor index = torch::tensor({1, 0});
  const auto part = [](const Tensor& a, const Tensor& b, const Tensor& order) {
    return std::make_tuple(a * b, std::vector<Tensor>{b.exp(), order + 1}, a.log());
  };
  const auto [product, others, unused] = checkpoint(part, x, y, index);
  CHECK(torch::equal(others[1], torch::tensor({2, 1})));
  CHECK_FALSE(others[1].requires_grad());
  (product * others[0]).sum().backward();
  CHECK(torch::allclose(x.grad(), y.exp() * y));
  CHECK(torch::allclose(y.grad(), y.exp() * x * (1 + y)));
}

TEST_CASE("without gradients it is a plain call") {
  const torch::NoGradGuard no_grad;
  const Tensor output =
      checkpoint([](const Tensor& x) { return x + 1; }, torch::ones({2}, torch::requires_grad()));
  CHECK_FALSE(output.requires_grad());
  CHECK(torch::equal(output, torch::full({2}, 2.0)));
}

TEST_CASE("a weight that is used in a part and outside, in one Autocast, has both gradients") {
  torch::manual_seed(1);
  const Tensor weight = torch::randn({4, 4}).requires_grad_();
  const Tensor x = torch::randn({2, 4});
  const auto twice = [&](bool in_parts) {
    weight.mutable_grad().reset();
    const auto part = [weight](const Tensor& y) { return torch::matmul(y, weight); };
    {
      const Autocast autocast{torch::kCPU};
      const Tensor inner = in_parts ? checkpoint(part, x) : part(x);
      torch::matmul(inner, weight).sum().to(torch::kFloat32).backward();
    }
    return weight.grad().clone();
  };
  CHECK(torch::allclose(twice(true), twice(false), 1e-2, 1e-2));
}

/// The parameters after some steps of DDP.
Tensors trained(const DdpOptions& options, bool in_parts, int repeats = 1) {
  const auto network = std::make_shared<Network>(in_parts, repeats);
  DistributedDataParallel<Network> ddp{network, group(), options};
  torch::optim::SGD optimizer{network->parameters(), 0.1};
  for (int step = 0; step < 4; ++step) {
    optimizer.zero_grad();
    for (const bool sync : {false, true}) {  // the gradients of two batches
      const auto guard = ddp.no_sync(!sync && !options.static_graph);
      ddp.forward(inputs_of(2 * step + sync)).pow(2).mean().backward();
    }
    optimizer.step();
  }
  return network->parameters();
}

TEST_CASE("under DDP, too, the parameters are the same to the bit") {
  check_same(trained({.bucket_cap_mb = 0.0005}, true), trained({.bucket_cap_mb = 0.0005}, false));
}

TEST_CASE("with static_graph a part may be used twice, and unused parameters are looked for") {
  const DdpOptions options{.find_unused_parameters = true, .static_graph = true};
  const Tensors in_parts = trained(options, true, 2), plain = trained(options, false, 2);
  REQUIRE(in_parts.size() == plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i)  // the two uses are added in another order
    CHECK(torch::allclose(in_parts[i], plain[i], 1e-5, 1e-6));
}

TEST_CASE("find_unused_parameters alone does not find the parameters in a part, and says so") {
  CHECK_THROWS_WITH(trained({.find_unused_parameters = true}, true),
                    contains("mark a variable ready only once"));
}

TEST_CASE("what cannot work has a sentence") {
  const Tensor x = torch::ones({2}, torch::requires_grad());
  const auto part = [](const Tensor& y) { return y * 2; };
  const Tensor sum = checkpoint(part, x).sum();
  CHECK_THROWS_WITH(torch::autograd::grad({sum}, {x}), contains("torch::autograd::grad()"));
  CHECK_THROWS_WITH(checkpoint(part, Tensor{}), contains("input 0 is undefined"));
  bool again = false;
  const auto fails = [&again](const Tensor& y) {
    if (again) throw std::runtime_error{"the second time"};
    return y * 2;
  };
  const Tensor output = checkpoint(fails, x);
  again = true;
  CHECK_THROWS_WITH(output.sum().backward(), contains("the second time"));
}

}  // namespace
}  // namespace ddprun::sdk
