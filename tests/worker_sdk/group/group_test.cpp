// Tests of what ranks do together. ddprun runs this program on several ranks, which all go through
// the same test cases in the same order.

#include "tests/support/catch.hpp"
#include "tests/worker_sdk/group_fixture.hpp"

namespace ddprun::sdk {
namespace {

TEST_CASE("all_reduce, broadcast and barrier do what their names say") {
  torch::Tensor sum = torch::full({3}, group().rank() + 1.0);
  group().all_reduce(sum);
  CHECK(torch::equal(sum, torch::full({3}, group().size() * (group().size() + 1) / 2.0)));
  torch::Tensor most = torch::tensor({group().rank()});
  group().all_reduce(most, c10d::ReduceOp::MAX);
  CHECK(most.item<int>() == group().size() - 1);
  torch::Tensor from_last = torch::tensor({group().rank()});
  group().broadcast(from_last, group().size() - 1);
  CHECK(from_last.item<int>() == group().size() - 1);
  group().barrier();
}

TEST_CASE("an unknown backend and NCCL without a GPU are refused with a sentence") {
  CHECK_THROWS_WITH(init_process_group({.backend = "mpi"}, group().env()),
                    contains("has no ProcessGroupMPI"));
  CHECK_THROWS_WITH(init_process_group({.backend = "nickel"}, group().env()),
                    contains("backend 'nickel': expected nccl, gloo"));
  if (torch::cuda::device_count() == 0)
    CHECK_THROWS_WITH(init_process_group({.backend = "nccl"}, group().env()),
                      contains("needs a GPU for every worker"));
}

}  // namespace
}  // namespace ddprun::sdk
