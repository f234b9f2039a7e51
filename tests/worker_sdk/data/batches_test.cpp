// Samples dealt out to any number of workers.

#include "ddprun/batches.hpp"

#include <algorithm>
#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/support/python.hpp"

namespace ddprun::sdk {
namespace {

/// The parts of one step, of all workers, one line for each.
std::string step_of(Batches& batches, int world_size) {
  std::ostringstream lines;
  for (int rank = 0; rank < world_size; ++rank) {
    batches.deal(rank, world_size);
    for (std::int64_t part = 0; part < batches.parts(); ++part) {
      for (const auto index : batches.part(part)) lines << index << ' ';
      lines << '\n';
    }
  }
  return lines.str();
}

TEST_CASE("batches are those of the module for Python, with any number of workers") {
  const std::string expected = python(R"(
import sys
sys.path.insert(0, ")" DDPRUN_PYTHON_MODULE R"(")
from ddprun import Batches
for size, options in ((50, dict(global_batch=12, seed=5)),
                      (7, dict(local_batch=6, micro_batch=4, seed=18446744073709551000)),
                      (33, dict(global_batch=16, micro_batch=2, shuffle=False))):
    batches = Batches(size, **options)
    for world_size in (3, 2, 5, 1, 4):
        for step in range(4):
            for rank in range(world_size):
                batches.deal(rank, world_size)
                source = iter(batches)
                for part in range(batches.parts):
                    print(*next(source), "")
            batches.count_step()
            print(int(batches.epoch_ended))
    state = batches.state_dict()
    print(state["epoch"], state["consumed"], state["size"])
)");
  std::ostringstream ours;
  for (const auto& [size, options] : std::vector<std::pair<std::int64_t, BatchesOptions>>{
           {50, {.global_batch = 12, .seed = 5}},
           {7, {.local_batch = 6, .micro_batch = 4, .seed = 18446744073709551000U}},
           {33, {.global_batch = 16, .micro_batch = 2, .shuffle = false}}}) {
    Batches batches{size, options};
    for (const int world_size : {3, 2, 5, 1, 4}) {
      for (int step = 0; step < 4; ++step) {
        ours << step_of(batches, world_size);
        batches.count_step();
        ours << batches.epoch_ended() << '\n';
      }
    }
    ours << batches.epoch() << ' ' << size - batches.left_in_epoch() << ' ' << size << '\n';
  }
  CHECK(ours.str() == expected);
}

TEST_CASE("every sample comes once in each epoch, whatever the numbers of workers are") {
  Batches batches{20, {.global_batch = 6, .seed = 1}};
  std::vector<std::int64_t> stream;  // two whole epochs
  for (const int world_size : {3, 1, 2, 5, 4, 5, 4, 4}) {
    for (int rank = 0; rank < world_size; ++rank) {
      batches.deal(rank, world_size);
      const auto part = batches.part(0);
      stream.insert(stream.end(), part.begin(), part.end());
    }
    batches.count_step();
  }
  CHECK(batches.epoch() == 2);
  CHECK(batches.left_in_epoch() == 20);
  for (std::int64_t index = 0; index < 20; ++index) CHECK(std::ranges::count(stream, index) == 2);
}

TEST_CASE("a place in the data comes back, and one that is none is refused") {
  Batches before{50, {.global_batch = 12}};
  for (int step = 0; step < 5; ++step) before.count_step();
  CHECK(before.save_state() == R"({"consumed":10,"epoch":1,"size":50})");
  Batches after{50, {.global_batch = 12}};
  after.restore_state(before.save_state());
  CHECK(after.part(0) == before.part(0));
  CHECK(before.epoch_ended());
  CHECK_FALSE(after.epoch_ended());  // it has counted no step

  for (const char* none :
       {"", "[]", R"({"epoch":1,"consumed":2})", R"({"epoch":-1,"consumed":2,"size":50})",
        R"({"epoch":0.5,"consumed":2,"size":50})", R"({"epoch":1,"consumed":51,"size":50})",
        R"({"epoch":1,"consumed":2,"size":49})",
        R"({"epoch":9000000000000000000,"consumed":2,"size":50})"})
    CHECK_THROWS_AS(after.restore_state(none), std::invalid_argument);
  CHECK(after.part(0) == before.part(0));
}

TEST_CASE("numbers that make no batches are refused with what was expected") {
  CHECK_THROWS_WITH((Batches{10, {}}), contains("one of the two"));
  CHECK_THROWS_WITH((Batches{10, {.local_batch = 1, .global_batch = 1}}),
                    contains("one of the two"));
  CHECK_THROWS_WITH((Batches{0, {.local_batch = 1}}), contains("size is 0, expected 1 or more"));
  CHECK_THROWS_WITH((Batches{10, {.local_batch = -1}}), contains("local_batch is -1"));
  CHECK_THROWS_WITH((Batches{10, {.local_batch = 1, .micro_batch = -2}}),
                    contains("micro_batch is -2"));
  Batches batches{10, {.global_batch = 2}};
  CHECK_THROWS_WITH(batches.deal(3, 3), contains("rank 3, expected 0 to 2"));
  CHECK_THROWS_WITH(batches.deal(0, 3), contains("gives some of 3 workers no sample"));
}

}  // namespace
}  // namespace ddprun::sdk
