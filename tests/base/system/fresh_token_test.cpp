#include "base/system/fresh_token.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("each token is another one, of 64 hexadecimal digits") {
  const std::string token = fresh_token();
  CHECK(token.size() == 64);
  CHECK(token.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(token != fresh_token());
}

}  // namespace
}  // namespace ddprun
