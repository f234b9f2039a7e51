#include "worker_sdk/elastic/light_copy.hpp"

#include "tests/support/catch.hpp"

namespace ddprun::sdk {

TEST_CASE("elastic: what a forward pass has changed is put back, to the last counted step") {
  torch::nn::BatchNorm1d norm{4};
  LightCopy copy{{norm.get()}};
  norm(torch::randn({8, 4}));
  copy.take();
  const torch::Tensor mean = norm->running_mean.clone();
  const torch::Tensor count = norm->num_batches_tracked.clone();
  norm(torch::randn({8, 4}));
  CHECK_FALSE(norm->running_mean.equal(mean));
  copy.put_back();
  CHECK(norm->running_mean.equal(mean));
  CHECK(norm->num_batches_tracked.equal(count));
}

TEST_CASE("elastic: a model without buffers has nothing to put back") {
  torch::nn::Linear linear{2, 2};
  LightCopy copy{{linear.get()}};
  CHECK_NOTHROW(copy.take());
  CHECK_NOTHROW(copy.put_back());
}

}  // namespace ddprun::sdk
