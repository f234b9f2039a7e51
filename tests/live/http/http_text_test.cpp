#include "live/http/http_text.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("a target is a path and parameters") {
  const auto request = parse_target("/log?rank=3&stream=err&empty&run=a%2Fb%20c");
  REQUIRE(request.has_value());
  CHECK(request->path == "/log");
  CHECK(request->parameter("rank") == "3");
  CHECK(request->parameter("stream") == "err");
  CHECK(request->parameter("run") == "a/b c");
  CHECK(request->parameter("empty").empty());
  CHECK(request->parameter("missing").empty());
}

TEST_CASE("a target that makes no sense is none") {
  for (const char* target : {"", "log", "*", "http://a/", "/%", "/%zz", "/a?b=%4"})
    CHECK_FALSE(parse_target(target).has_value());
  std::string many = "/?";
  for (int i = 0; i < 100; ++i) many += "a" + std::to_string(i) + "=1&";
  CHECK_FALSE(parse_target(many).has_value());
}

TEST_CASE("only who names us by an address, as localhost or by our name was sent here on purpose") {
  const std::vector<std::string> names{"node7", "node7.example.org"};
  for (const char* host : {"127.0.0.1:80", "127.0.0.1", "[::1]:8000", "localhost:1", "LOCALHOST",
                           "node7:29500", "Node7.example.org"})
    CHECK(is_own_host(host, names));
  for (const char* host : {"", "evil.example.com", "node7.evil.com:80", "localhost.evil.com",
                           "127.0.0.1.evil.com", "[::1", "node"})
    CHECK_FALSE(is_own_host(host, names));
}

TEST_CASE("secrets are the same only when all of their bytes are") {
  CHECK(same_secret("abc", "abc"));
  CHECK_FALSE(same_secret("abc", "abd"));
  CHECK_FALSE(same_secret("abc", "ab"));
  CHECK_FALSE(same_secret("", "a"));
}

}  // namespace
}  // namespace ddprun
