// Batches without an end, dealt out to as many workers as there are.

#include "ddprun/elastic_loader.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "ddprun/labelled_images.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker_sdk/data/indices.hpp"

namespace ddprun::sdk {
namespace {

using Endless = ElasticLoader<Indices>;

/// What Batches deals out as the batch `number` behind the last counted step.
Indices expected(int rank, int world_size, const std::string& place, std::int64_t number) {
  Batches batches{23, {.global_batch = 8, .micro_batch = 2, .seed = 7}};
  batches.restore_state(place);
  batches.deal(rank, world_size);
  return batches.part(number);
}

Endless make_loader(int workers) {
  return {23, same, {.global_batch = 8, .micro_batch = 2, .seed = 7, .workers = workers}};
}

TEST_CASE("a loader that reads ahead gives the batches of each step, without an end") {
  for (const int workers : {0, 2}) {
    Endless loader = make_loader(workers);
    loader.deal(1, 2);
    CHECK(loader.parts() == 2);
    for (int step = 0; step < 9; ++step) {
      const std::string place = loader.save_state();
      for (int part = 0; part < 2; ++part) CHECK(loader.next() == expected(1, 2, place, part));
      CHECK(loader.save_state() == place);  // the step is not counted yet
      loader.count_step();
    }
    CHECK(loader.epoch() == 3);
  }
}

TEST_CASE("what was read ahead is dropped where samples are divided again") {
  Endless loader = make_loader(2);
  loader.deal(1, 2);
  for (int part = 0; part < 2; ++part) loader.next();
  loader.count_step();
  loader.next();  // its step is dropped
  loader.deal(0, 1);
  const std::string place = loader.save_state();
  CHECK(place == R"({"consumed":8,"epoch":0,"size":23})");
  CHECK(loader.parts() == 4);
  for (int part = 0; part < 4; ++part) CHECK(loader.next() == expected(0, 1, place, part));
}

/// A loader with a thread that is at most two batches ahead, and whose fetches are counted.
struct Counted {
  explicit Counted(std::int64_t size)
      : loader{size,
               [this](const Indices& batch) {
                 ++fetched;
                 return batch;
               },
               {.local_batch = 2, .shuffle = false}} {}

  /// Waits until there have been that many fetches in all; false if they do not come.
  bool fetches(int count) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (fetched < count && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    return fetched >= count;
  }

  std::atomic<int> fetched = 0;
  Endless loader;
};

TEST_CASE("what was read ahead is kept where a step is counted, and no sample is read twice") {
  Counted counted{20};
  for (int step = 0; step < 5; ++step) {
    CHECK(counted.loader.next() == Indices{2 * step, 2 * step + 1});
    REQUIRE(counted.fetches(step + 3));
    counted.loader.count_step();
  }
  CHECK(counted.fetched == 7);
  counted.loader.deal(0, 1);
  CHECK(counted.loader.next() == Indices{10, 11});
  CHECK(counted.fetches(10));  // the two that were ahead are read again
}

TEST_CASE("threads read ahead over the ends of short epochs") {
  Counted counted{2};
  CHECK(counted.loader.next() == Indices{0, 1});
  CHECK(counted.fetches(3));
}

TEST_CASE("batches of a counted step that nobody has taken are left out") {
  Endless loader = make_loader(2);
  loader.next();
  loader.count_step();
  CHECK(loader.next() == expected(0, 1, loader.save_state(), 0));
}

TEST_CASE("a loader goes on where another one was") {
  Endless before = make_loader(1);
  for (int part = 0; part < 4; ++part) before.next();
  before.count_step();
  Endless after = make_loader(1);
  after.next();
  after.restore_state(before.save_state());
  CHECK(after.next() == before.next());
}

TEST_CASE("a step that was not counted gives no more batches") {
  Endless loader = make_loader(0);
  for (int part = 0; part < 4; ++part) loader.next();
  CHECK_THROWS_WITH(loader.next(), contains("was not counted"));
}

TEST_CASE("what fetching throws comes in the place of its batch") {
  for (const int workers : {0, 1}) {
    Endless loader{10,
                   [](const Indices& batch) {
                     if (batch.front() == 1) throw std::runtime_error{"sample 1 cannot be read"};
                     return batch;
                   },
                   {.local_batch = 3, .micro_batch = 1, .shuffle = false, .workers = workers}};
    CHECK(loader.next() == Indices{0});
    CHECK_THROWS_WITH(loader.next(), contains("sample 1"));
    CHECK(loader.next() == Indices{2});
  }
}

TEST_CASE("the loader of a data set knows its size") {
  const LabelledImages images{torch::zeros({5, 1, 2, 2}), torch::arange(5)};
  auto loader = make_elastic_loader(images, {.local_batch = 5, .shuffle = false});
  CHECK(loader.next().labels.equal(torch::arange(5)));
}

}  // namespace
}  // namespace ddprun::sdk
