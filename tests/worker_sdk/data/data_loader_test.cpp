#include "ddprun/data_loader.hpp"

#include <atomic>
#include <latch>

#include "tests/support/catch.hpp"
#include "tests/worker_sdk/data/indices.hpp"

namespace ddprun::sdk {
namespace {

using Loader = DataLoader<Indices>;

TEST_CASE("batches come in order, whatever the number of threads") {
  for (const int workers : {0, 1, 2, 7}) {
    Loader loader{up_to(1003), same, {.batch_size = 10, .workers = workers, .prefetch = 3}};
    CHECK(loader.size() == 101);
    Indices seen;
    for (const Indices& batch : loader) seen.insert(seen.end(), batch.begin(), batch.end());
    CHECK(seen == up_to(1003));
    CHECK_FALSE(loader.next().has_value());
  }
}

TEST_CASE("the last batch is smaller, or dropped") {
  Loader all{up_to(7), same, {.batch_size = 3}};
  all.next();
  all.next();
  CHECK(all.next() == Indices{6});
  Loader full{up_to(7), same, {.batch_size = 3, .drop_last = true}};
  CHECK(full.size() == 2);
  CHECK(Loader({}, same, {}).next() == std::nullopt);
}

TEST_CASE("threads fetch ahead as far as they may, and no further") {
  std::atomic<int> fetched = 0;
  std::latch all_ahead{6};
  std::atomic<bool> too_far = false;
  Loader loader{up_to(100),
                [&](const Indices& batch) {
                  if (++fetched > 6) too_far = true;
                  if (batch[0] < 6) all_ahead.count_down();
                  return batch;
                },
                {.batch_size = 1, .workers = 2, .prefetch = 3}};
  all_ahead.wait();
  CHECK_FALSE(too_far);
  CHECK(loader.next() == Indices{0});
}

TEST_CASE("what a thread throws reaches the caller in its place, and the others go on") {
  for (const int workers : {0, 3}) {
    Loader loader{up_to(5),
                  [](const Indices& batch) {
                    if (batch[0] == 2) throw std::runtime_error{"sample 2 is broken"};
                    return batch;
                  },
                  {.batch_size = 1, .workers = workers}};
    CHECK(loader.next() == Indices{0});
    CHECK(loader.next() == Indices{1});
    CHECK_THROWS_WITH(loader.next(), "sample 2 is broken");
    CHECK(loader.next() == Indices{3});
    CHECK(loader.next() == Indices{4});
  }
}

TEST_CASE("a loader that is left early stops its threads") {
  for (int i = 0; i < 20; ++i) {
    Loader loader{up_to(1000), same, {.batch_size = 1, .workers = 4}};
    if (i % 2 == 0) CHECK(loader.next().has_value());
  }
}

TEST_CASE("options that make no sense are refused") {
  CHECK_THROWS_WITH((Loader{{}, same, {.batch_size = 0}}), contains("batch size 0"));
  CHECK_THROWS_WITH((Loader{{}, same, {.workers = -1}}), contains("-1 workers"));
  CHECK_THROWS_WITH((Loader{{}, same, {.prefetch = 0}}), contains("0 batches ahead"));
}

struct Squares : torch::data::Dataset<Squares> {
  torch::data::Example<> get(std::size_t index) override {
    const auto number = static_cast<std::int64_t>(index);
    return {torch::tensor({number}), torch::tensor(number * number)};
  }
  torch::optional<std::size_t> size() const override { return 10; }
};

TEST_CASE("any data set of torch::data can be loaded, mapped or not") {
  auto stacked = make_data_loader(Squares{}.map(torch::data::transforms::Stack<>{}), {3, 1, 2},
                                  {.batch_size = 2});
  const auto first = stacked.next();
  CHECK(torch::equal(first->target, torch::tensor({9, 1})));
  CHECK(torch::equal(first->data, torch::tensor({{3}, {1}})));
  auto plain = make_data_loader(Squares{}, {4}, {});
  CHECK(plain.next()->at(0).target.item<int>() == 16);
}

TEST_CASE("images in memory can be loaded") {
  const LabelledImages data{torch::arange(6).reshape({3, 2}), torch::arange(3)};
  auto loader = make_data_loader(data, {2, 0}, {.batch_size = 2});
  const auto batch = loader.next();
  CHECK(torch::equal(batch->labels, torch::tensor({2, 0})));
  CHECK(torch::equal(batch->images, torch::tensor({{4, 5}, {0, 1}})));
}

}  // namespace
}  // namespace ddprun::sdk
