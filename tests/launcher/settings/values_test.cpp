#include "launcher/settings/values.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

/// HOST:PORT where the page of a job is, with this --status-addr, or what is wrong with it.
std::string page_at(const std::string& text) {
  const auto endpoint = parse_status_address({text, "--status-addr", true});
  return endpoint ? text_of(*endpoint) : endpoint.error().message;
}

TEST_CASE("a status page without a host is for this machine alone") {
  CHECK(page_at("8080") == "127.0.0.1:8080");
  CHECK(page_at(":8080") == "127.0.0.1:8080");
  CHECK(page_at("0") == "127.0.0.1:0");
}

TEST_CASE("a status page may be at a host, and needs a port") {
  CHECK(page_at("h1:8080") == "h1:8080");
  CHECK(page_at("[::1]:8080") == "[::1]:8080");
  CHECK_THAT(page_at("h1"), contains("expected PORT, HOST:PORT or [IPv6]:PORT"));
  for (const char* text : {"70000", ":70000", "h1:70000", "-1"})
    CHECK_THAT(page_at(text), contains("expected a port from 0 to 65535"));
}

TEST_CASE("a time is seconds, or has a unit") {
  using namespace std::chrono_literals;
  CHECK(seconds_of("90") == 90s);
  CHECK(seconds_of("0.25") == 250ms);
  CHECK(seconds_of("90s") == 90s);
  CHECK(seconds_of("1.5h") == 90min);
  CHECK(seconds_of("30d") == std::chrono::hours{24 * 30});
  for (const char* text : {"", "s", "-1s", "5w", "5ms", "nan", "inf", "1h30m", "31d", "1 h"}) {
    INFO(text);
    CHECK_FALSE(seconds_of(text).has_value());
  }
}

}  // namespace
}  // namespace ddprun
