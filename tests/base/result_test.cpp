#include "base/result.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("the value of an error throws the error's sentence") {
  const Result<int> failed = invalid("--nnodes=0: a job has at least 1 node");
  REQUIRE(failed.has_error());
  CHECK(failed.error().kind == Error::Kind::kInvalid);
  CHECK_THROWS_WITH(failed.value(), "--nnodes=0: a job has at least 1 node");
}

}  // namespace
}  // namespace ddprun
