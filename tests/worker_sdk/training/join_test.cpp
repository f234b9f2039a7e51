// DistributedDataParallel::join(): ranks with different numbers of batches, against one process
// that knows the batches of all. Python's join() is asked in interop_test.cpp.

#include "ddprun/distributed_data_parallel.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker_sdk/ranks.hpp"

namespace ddprun::sdk {
namespace {

using torch::nn::LinearImpl;

std::shared_ptr<LinearImpl> make_layer() {
  torch::manual_seed(3);
  return std::make_shared<LinearImpl>(4, 2);
}

torch::Tensor loss_of(const torch::Tensor& outputs) { return outputs.pow(2).mean(); }

torch::Tensor batch_of(int rank, int step) {
  torch::manual_seed(100 * step + rank);
  return torch::randn({3, 4});
}

/// One process in place of all ranks, of which rank r has `first` + 2 r batches.
class Alone {
 public:
  Alone(int first, bool divide_by_all) : first_{first}, divide_by_all_{divide_by_all} {}

  int batches(int rank) const { return first_ + 2 * rank; }

  void train() {
    for (int step = 0; step < batches(group().size() - 1); ++step) {
      int active = 0;
      for (int rank = 0; rank < group().size(); ++rank) active += step < batches(rank) ? 1 : 0;
      optimizer_.zero_grad();
      for (int rank = group().size() - active; rank < group().size(); ++rank)
        loss_of(layer_->forward(batch_of(rank, step)) / divisor(active)).backward();
      optimizer_.step();
    }
  }

  const LinearImpl& layer() const { return *layer_; }

 private:
  /// The loss is a square.
  double divisor(int active) const {
    return std::sqrt(static_cast<double>(divide_by_all_ ? group().size() : active));
  }

  int first_;
  bool divide_by_all_;
  std::shared_ptr<LinearImpl> layer_ = make_layer();
  torch::optim::SGD optimizer_{layer_->parameters(), torch::optim::SGDOptions{0.1}.momentum(0.9)};
};

struct Training {
  explicit Training(const DdpOptions& options = {}) : ddp{layer, group(), options} {}

  void step(const torch::Tensor& batch) {
    ddp.zero_grad();
    loss_of(ddp.forward(batch)).backward();
    optimizer.step();
  }

  std::shared_ptr<LinearImpl> layer = make_layer();
  DistributedDataParallel<LinearImpl> ddp;
  torch::optim::SGD optimizer{layer->parameters(), torch::optim::SGDOptions{0.1}.momentum(0.9)};
};

void check_same(const LinearImpl& layer, const LinearImpl& expected) {
  CHECK(torch::allclose(layer.weight, expected.weight, 1e-5, 1e-6));
  CHECK(torch::allclose(layer.bias, expected.bias, 1e-5, 1e-6));
}

TEST_CASE("ranks with few batches, or none, join in, and all end with the last one's model") {
  const bool divide_by_all = GENERATE(true, false);
  const bool find_unused = GENERATE(false, true);
  const int first = GENERATE(0, 3);
  Alone alone{first, divide_by_all};
  alone.train();
  Training training{{.find_unused_parameters = find_unused}};
  training.ddp.join(
      [&] {
        for (int step = 0; step < alone.batches(group().rank()); ++step)
          training.step(batch_of(group().rank(), step));
      },
      {.divide_by_initial_world_size = divide_by_all});
  check_same(*training.layer, alone.layer());
}

TEST_CASE("after join(), gradients are the mean over all ranks again") {
  Training training;
  training.ddp.join(
      [&] {
        for (int step = 0; step <= group().rank(); ++step) training.step(torch::ones({1, 4}));
      },
      {.divide_by_initial_world_size = false});
  training.ddp.zero_grad();
  training.ddp.forward(torch::ones({1, 4})).sum().backward();
  CHECK(torch::allclose(training.layer->bias.grad(), torch::ones({2})));
}

TEST_CASE("gradients that are accumulated within no_sync are joined, too") {
  const auto layer = make_layer();
  DistributedDataParallel<LinearImpl> ddp{layer, group()};
  torch::optim::SGD optimizer{layer->parameters(), 1.0};
  ddp.join([&] {
    for (int step = 0; step <= group().rank(); ++step) {
      ddp.zero_grad();
      {
        const auto guard = ddp.no_sync();
        ddp.forward(torch::ones({1, 4})).sum().backward();
      }
      ddp.forward(torch::ones({1, 4})).sum().backward();
      optimizer.step();
    }
  });
  // In step s, size - s ranks add 2 each, and all of them divide.
  double sum = 0;
  for (int step = 0; step < group().size(); ++step)
    sum += 2.0 * (group().size() - step) / group().size();
  CHECK(torch::allclose(layer->bias, make_layer()->bias - sum, 1e-5, 1e-6));
}

TEST_CASE("running statistics are in the end those of the rank that trained longest") {
  torch::manual_seed(1);
  using torch::nn::SequentialImpl;
  auto network =
      std::make_shared<SequentialImpl>(torch::nn::Linear(4, 3), torch::nn::BatchNorm1d(3));
  DistributedDataParallel<SequentialImpl> ddp{network, group()};
  ddp.join([&] {
    for (int step = 0; step <= group().rank(); ++step) {
      ddp.zero_grad();
      loss_of(ddp.forward(batch_of(group().rank(), step))).backward();
    }
  });
  const auto buffers = network->named_buffers();
  CHECK(buffers["1.num_batches_tracked"].item<int>() == group().size());
  const torch::Tensor of_last = buffers["1.running_mean"].clone();
  group().broadcast(of_last, group().size() - 1);
  CHECK(torch::equal(buffers["1.running_mean"], of_last));
}

TEST_CASE("with throw_on_early_termination, all ranks throw when one has run out") {
  Training training;
  int steps = 0;
  const auto train = [&] {
    training.ddp.join(
        [&] {
          for (; steps < 2 + group().rank(); ++steps) training.step(torch::ones({1, 4}));
        },
        {.throw_on_early_termination = true});
  };
  if (group().size() == 1) {
    CHECK_NOTHROW(train());
    return;
  }
  CHECK_THROWS_WITH(train(), contains(group().rank() == 0 ? "this rank has no inputs left"
                                                          : "another rank has no inputs left"));
  CHECK(steps == 2);
}

TEST_CASE("what join() cannot do is refused") {
  Training training;
  auto& ddp = training.ddp;
  CHECK_THROWS_WITH(ddp.join([&] { ddp.join([] {}); }), contains("join() within join()"));
  CHECK_THROWS_WITH(ddp.join([&] {
    const torch::NoGradGuard no_grad;
    ddp.forward(torch::ones({1, 4}));
  }),
                    contains("evaluate with module().forward()"));
  CHECK_THROWS_WITH(ddp.join([&] { ddp.reduce_in_next_backward(); }), contains("within join()"));
  Training static_graph{{.static_graph = true}};
  CHECK_THROWS_WITH(static_graph.ddp.join([] {}), contains("static_graph"));
  training.step(torch::ones({1, 4}));  // nothing is left of it
}

}  // namespace
}  // namespace ddprun::sdk
