// Ranks that do different things, with TORCH_DISTRIBUTED_DEBUG=DETAIL, which the environment of
// this program sets. ddprun runs it on several ranks, the last of which is the odd one.

#include <torch/csrc/distributed/c10d/debug.h>

#include "tests/support/catch.hpp"
#include "tests/worker_sdk/group_fixture.hpp"

namespace ddprun::sdk {
namespace {

int last() { return group().size() - 1; }
bool is_odd() { return group().rank() == last(); }

/// The message on this rank about ranks that do not do the same.
std::string mismatch(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "no std::invalid_argument";
}

/// All hear of the odd rank, by its number.
void check_names_the_odd_one(const std::string& text) {
  INFO(text);
  CHECK_THAT(text, contains("Rank " + std::to_string(last()) + " is running"));
  CHECK_THAT(text, contains("(rank " + std::to_string(group().rank()) + " of " +
                            std::to_string(group().size()) + ")"));
}

/// Nobody is left in the middle of an operation.
void check_group_works() {
  const torch::Tensor sum = torch::ones({3});
  group().all_reduce(sum);
  CHECK(torch::equal(sum, torch::full({3}, static_cast<float>(group().size()))));
}

TEST_CASE("the environment sets the debug level, and there are ranks to differ") {
  REQUIRE(group().size() >= 2);
  REQUIRE(c10d::debug_level() == c10d::DebugLevel::Detail);
}

TEST_CASE("ranks whose shapes differ get an error before anything is sent") {
  const std::int64_t length = is_odd() ? 4 : 3;
  const auto text = mismatch([&] { group().all_reduce(torch::ones({length})); });
  check_names_the_odd_one(text);
  CHECK_THAT(text, contains("all_reduce on group \"default\"") && contains("TensorShape=[3]") &&
                       contains("TensorShape=[4]") && contains("OpType=ALLREDUCE"));
  check_group_works();
}

TEST_CASE("ranks that call different operations get an error") {
  const auto text = mismatch([&] {
    if (is_odd())
      group().broadcast(torch::ones({3}));
    else
      group().all_reduce(torch::ones({3}));
  });
  check_names_the_odd_one(text);
  CHECK_THAT(text, contains("OpType=BROADCAST") && contains("OpType=ALLREDUCE"));
  check_group_works();
}

TEST_CASE("ranks whose dtypes differ get an error") {
  const auto type = is_odd() ? torch::kFloat64 : torch::kFloat32;
  const auto text = mismatch([&] { group().all_reduce(torch::ones({3}, type)); });
  check_names_the_odd_one(text);
  CHECK_THAT(text, contains("Float") && contains("Double"));
  check_group_works();
}

TEST_CASE("a sub-group is watched, too") {
  std::vector<int> all;
  for (int rank = 0; rank < group().size(); ++rank) all.push_back(rank);
  const auto whole = group().new_group(all, {.name = "everybody"});
  REQUIRE(whole);
  const std::int64_t length = is_odd() ? 4 : 3;
  const auto text = mismatch([&] { whole->all_reduce(torch::ones({length})); });
  check_names_the_odd_one(text);
  CHECK_THAT(text, contains("all_reduce on group \"everybody\""));
  group().barrier();
}

}  // namespace
}  // namespace ddprun::sdk
