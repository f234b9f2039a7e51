// Batches on their way to a device. Here that is the CPU: what is special about a GPU is in
// training/device_test.cpp, which scripts/gpu-check runs there.

#include "ddprun/device_prefetcher.hpp"

#include <map>
#include <numeric>

#include "ddprun/data_loader.hpp"
#include "ddprun/token_files.hpp"
#include "tests/support/catch.hpp"

namespace ddprun::sdk {
namespace {

using torch::Tensor;

int count_of(auto batch) {
  int count = 0;
  for_each_tensor(batch, [&](Tensor&) { ++count; });
  return count;
}

struct Unknown {
  Tensor tensor;
};

TEST_CASE("the tensors of a batch are found, and may be replaced") {
  const Tensor one = torch::ones({1});
  CHECK(count_of(one) == 1);
  CHECK(count_of(TokenBatch{one, one}) == 2);
  CHECK(count_of(LabelledImages{one, one}) == 2);
  CHECK(count_of(torch::data::Example<>{one, one}) == 2);
  CHECK(count_of(std::vector<torch::data::Example<>>{{one, one}, {one, one}}) == 4);
  CHECK(count_of(std::tuple{one, std::pair{one, 3}, std::string{"key"}}) == 2);
  CHECK(count_of(std::map<std::string, Tensor>{{"a", one}, {"b", one}}) == 2);
  CHECK(count_of(std::vector<std::int64_t>{1, 2}) == 0);
  STATIC_REQUIRE_FALSE(tensors_are_known<Unknown>());
  STATIC_REQUIRE_FALSE(tensors_are_known<std::pair<Tensor, Unknown>>());
  std::pair<Tensor, std::vector<Tensor>> batch{one, {one}};
  for_each_tensor(batch, [](Tensor& tensor) { tensor = tensor + 1; });
  CHECK(batch.second[0].item<int>() == 2);
  CHECK(one.item<int>() == 1);
}

TEST_CASE("pinned memory needs batches whose tensors are known, and changes no batch") {
  const auto unknown = [](const std::vector<std::int64_t>&) { return Unknown{}; };
  CHECK_THROWS_WITH((DataLoader<Unknown>{{0}, unknown, {.pin_memory = true}}),
                    contains("give its type a member for_each_tensor()"));
  const LabelledImages data{torch::arange(20).reshape({10, 2}), torch::arange(10)};
  const std::vector<std::int64_t> order{3, 1, 4, 5, 9, 2, 6};
  for (const int workers : {0, 2}) {
    auto plain = make_data_loader(data, order, {.batch_size = 2, .workers = workers});
    auto pinned =
        make_data_loader(data, order, {.batch_size = 2, .workers = workers, .pin_memory = true});
    for (const LabelledImages& batch : plain) {
      const auto same = pinned.next();
      REQUIRE(same);
      CHECK(torch::equal(batch.images, same->images));
      CHECK(torch::equal(batch.labels, same->labels));
      CHECK(same->images.is_pinned() == torch::cuda::is_available());
    }
    CHECK_FALSE(pinned.next());
  }
}

/// Batches 0, 1, 2, ... of two epochs of `size`, with a state; `broken` throws.
struct Counter : Stateful {
  explicit Counter(int its_size, int its_broken = -1) : size{its_size}, broken{its_broken} {}
  std::optional<Tensor> next() {
    const int now = place++;
    if (now == broken) throw std::runtime_error{"batch " + std::to_string(now) + " is broken"};
    if (now == size) return std::nullopt;
    return torch::tensor(now);
  }
  std::string save_state() const override { return std::to_string(place); }
  void restore_state(const std::string& state) override { place = std::stoi(state); }
  int size, broken, place = 0;
};

TEST_CASE("batches come in order, however many are copied ahead, and no more than these") {
  for (const std::size_t ahead : {0, 1, 3, 50}) {
    Counter source{6};
    DevicePrefetcher batches{source, torch::kCPU, ahead};
    for (int i = 0; i < 6; ++i) {
      const auto batch = batches.next();
      REQUIRE(batch);
      CHECK(batch->item<int>() == i);
      CHECK(source.place == std::min(7, i + 1 + static_cast<int>(ahead)));
      CHECK(batches.save_state() == std::to_string(i + 1));
    }
    CHECK_FALSE(batches.next());
    CHECK(source.place == 7);  // the next epoch is not begun before the end of this one is reported
  }
}

TEST_CASE("the CPU copies nothing ahead by default, and hands on the tensors themselves") {
  const Tensor tensor = torch::ones({3});
  auto loader = DataLoader<Tensor>{{0, 1}, [&](const auto&) { return tensor; }, {.batch_size = 1}};
  DevicePrefetcher batches{loader, torch::kCPU};
  CHECK(batches.next()->is_same(tensor));
  CHECK_THROWS_AS(batches.save_state(), std::logic_error);
  CHECK_THROWS_AS(batches.restore_state(""), std::logic_error);
}

TEST_CASE("what the source throws comes in its batch's place, and the others go on") {
  for (const std::size_t ahead : {0, 1, 5}) {
    Counter source{5, 2};
    DevicePrefetcher batches{source, torch::kCPU, ahead};
    CHECK(batches.next()->item<int>() == 0);
    CHECK(batches.next()->item<int>() == 1);
    CHECK_THROWS_WITH(batches.next(), "batch 2 is broken");
    CHECK(batches.next()->item<int>() == 3);
  }
}

TEST_CASE("a source goes on behind what was taken, not behind what was copied") {
  Counter source{20};
  DevicePrefetcher batches{source, torch::kCPU, 4};
  CHECK(batches.save_state() == "0");
  batches.next();
  batches.next();
  const std::string state = batches.save_state();
  batches.next();
  batches.restore_state(state);
  CHECK(batches.save_state() == state);
  CHECK(batches.next()->item<int>() == 2);
}

}  // namespace
}  // namespace ddprun::sdk
