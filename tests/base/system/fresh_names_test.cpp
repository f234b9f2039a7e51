#include "base/system/fresh_names.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("a fresh id is a UUID in 36 characters") {
  const std::string id = fresh_id();
  REQUIRE(id.size() == 36);
  CHECK(std::ranges::count(id, '-') == 4);
  CHECK(id.find_first_not_of("0123456789abcdef-") == std::string::npos);
}

TEST_CASE("no fresh id comes twice") {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(fresh_id());
  CHECK(ids.size() == 1000);
}

TEST_CASE("each token is another one, of 64 hexadecimal digits") {
  const std::string token = fresh_token();
  CHECK(token.size() == 64);
  CHECK(token.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(token != fresh_token());
}

}  // namespace
}  // namespace ddprun
