#include "live/page/job_page.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("the page holds its style and its script, and asks no other site") {
  const std::string page = job_page("n0nce", "");
  CHECK_THAT(page, contains("<style nonce=\"n0nce\">:root"));
  CHECK_THAT(page, contains("<script nonce=\"n0nce\">\"use strict\""));
  for (const char* other : {"src=", "@import", "//cdn", "https://", "innerHTML", "NONCE", "STYLE<"})
    CHECK(page.find(other) == std::string::npos);
}

TEST_CASE("the page shows the command line as text, whatever is in it") {
  CHECK_THAT(job_page("n", "ddprun a.py"), contains("<code id=\"command\">ddprun a.py</code>"));
  const std::string odd = job_page("n", "sh -c 'a && b </code><script>' SCRIPT COMMAND");
  CHECK_THAT(odd, contains("'a &amp;&amp; b &lt;/code>&lt;script>' SCRIPT COMMAND</code>"));
  CHECK(job_page("n", std::string(1'000'000, 'x')).size() < 60'000);
}

TEST_CASE("the page is light, and has no comments and no indentation") {
  const std::string page = job_page("n0nce", "");
  CHECK(page.size() < 46'000);
  for (const char* other : {"\n//", "\n "}) CHECK(page.find(other) == std::string::npos);
  CHECK_THAT(page, contains("\n*{box-sizing:border-box;}\n"));
  CHECK_THAT(page, contains("font:15px/1.45 system-ui,sans-serif;"));
}

TEST_CASE("a browser runs no other script in the page, and puts it into no frame") {
  const auto headers = page_headers("n0nce");
  CHECK_THAT(headers.front().second, contains("default-src 'none'; script-src 'nonce-n0nce'"));
  CHECK_THAT(headers.front().second, contains("frame-ancestors 'none'"));
}

}  // namespace
}  // namespace ddprun
