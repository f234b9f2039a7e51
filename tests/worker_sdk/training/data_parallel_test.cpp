#include "ddprun/data_parallel.hpp"

#include "tests/support/catch.hpp"

namespace ddprun::sdk {
namespace {

struct Network : torch::nn::Cloneable<Network> {
  Network() { reset(); }
  void reset() override {
    first = register_module("first", torch::nn::Linear(4, 8));
    second = register_module("second", torch::nn::Linear(8, 2));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    sizes_seen.push_back(x.size(0));
    if (x.size(1) == 4) return second(torch::tanh(first(x)));
    throw std::runtime_error{"four columns, please"};
  }
  torch::nn::Linear first{nullptr}, second{nullptr};
  std::vector<std::int64_t> sizes_seen;
};

const std::vector<torch::Device> kTwo{torch::kCPU, torch::kCPU};

TEST_CASE("a batch on two devices gives the outputs and gradients that it gives on one") {
  torch::manual_seed(1);
  const auto network = std::make_shared<Network>();
  for (const int rows : {1, 2, 5, 8}) {
    INFO(rows << " rows");
    const torch::Tensor input = torch::randn({rows, 4});
    network->zero_grad();
    const torch::Tensor expected = network->forward(input);
    expected.pow(2).sum().backward();
    std::vector<torch::Tensor> gradients;
    for (const auto& parameter : network->parameters())
      gradients.push_back(parameter.grad().clone());

    network->zero_grad();
    const torch::Tensor output = data_parallel(network, input, {.devices = kTwo});
    CHECK(torch::allclose(output, expected));
    output.pow(2).sum().backward();
    for (std::size_t i = 0; i < gradients.size(); ++i)
      CHECK(torch::allclose(network->parameters()[i].grad(), gradients[i], 1e-5, 1e-7));
  }
}

TEST_CASE("without gradients there are none to follow") {
  const torch::NoGradGuard no_grad;
  const auto network = std::make_shared<Network>();
  CHECK_FALSE(data_parallel(network, torch::ones({4, 4}), {.devices = kTwo}).requires_grad());
}

TEST_CASE("what does not fit is an error, and what forward throws comes out") {
  const auto network = std::make_shared<Network>();
  const auto error = [&](const torch::Tensor& input, const DataParallelOptions& options) {
    try {
      data_parallel(network, input, options);
    } catch (const std::exception& e) {
      return std::string{e.what()};
    }
    return std::string{"no error"};
  };
  CHECK_THAT(error(torch::ones({0, 4}), {.devices = kTwo}), contains("[0, 4], is empty"));
  CHECK_THAT(error(torch::ones({2, 4}), {.devices = kTwo, .dim = 2}),
             contains("dim is 2, but the input has the shape [2, 4]"));
  CHECK_THAT(error(torch::ones({2, 5}), {.devices = kTwo}), contains("four columns, please"));
  CHECK_THAT(error(torch::ones({2, 4}), {.devices = {torch::kMeta}}),
             contains("parameter 'first.weight' is on cpu, expected meta"));
  if (torch::cuda::device_count() == 0)
    CHECK_THAT(error(torch::ones({2, 4}), {}), contains("this process sees no GPU"));
}

}  // namespace
}  // namespace ddprun::sdk
