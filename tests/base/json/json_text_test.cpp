#include "base/json/json_text.hpp"

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using nlohmann::json;

TEST_CASE("what was written is read again") {
  const json value{{"a", {1, 2.5, true, nullptr}}, {"b", "é"}};
  for (const JsonStyle style : {JsonStyle::kLine, JsonStyle::kAscii, JsonStyle::kIndented}) {
    const auto read = parse_json(json_text(value, style));
    REQUIRE(read.has_value());
    CHECK(**read == value);
  }
}

TEST_CASE("JSON is written as it was asked for") {
  const json value{{"a", "é"}};
  CHECK(json_text(value) == R"({"a":"é"})");
  CHECK(json_text(value, JsonStyle::kAscii) == R"({"a":"\u00e9"})");
  CHECK(json_text(value, JsonStyle::kIndented) == "{\n  \"a\": \"é\"\n}");
  CHECK(json_text(nlohmann::ordered_json{{"b", 1}, {"a", 2}}) == R"({"b":1,"a":2})");
}

TEST_CASE("bytes that are no UTF-8 are replaced, or refused") {
  const json value{{"a", "\xff"}};
  CHECK(json_text(value) == "{\"a\":\"\xEF\xBF\xBD\"}");
  CHECK(json_text(value, JsonStyle::kAscii) == R"({"a":"\ufffd"})");
  CHECK(strict_json_text(value).has_error());
  CHECK(*strict_json_text({{"a", 1}}) == R"({"a":1})");
}

TEST_CASE("what is no JSON is an error, or null") {
  for (const char* text : {"", "{", "[1,]", "nan", "\"\xff\""}) {
    CHECK_FALSE(parse_json(text).error().message.empty());
    CHECK((*json_or_null(text)).is_null());
  }
}

}  // namespace
}  // namespace ddprun
