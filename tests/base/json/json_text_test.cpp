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

TEST_CASE("values are found by their names") {
  const ParsedJson read = json_or_null(R"({"a": {"b": "text"}, "list": [1, "two"], "no": null})");
  CHECK(*text_in(member(member(*read, "a"), "b")) == "text");
  CHECK(text_at(member(*read, "a"), "b") == "text");
  CHECK(members(&*read).size() == 3);
  CHECK(members(&*read).front().first == "a");
  const auto list = entries(member(*read, "list"));
  REQUIRE(list.has_value());
  CHECK(integer_in(list->at(0)) == 1);
  CHECK(*text_in(list->at(1)) == "two");
  CHECK(is_object(member(*read, "a")));
}

TEST_CASE("what is not there may be asked further") {
  const ParsedJson read = json_or_null("[]");
  const auto* none = member(*read, "a");
  CHECK(none == nullptr);
  CHECK(member(none, "b") == nullptr);
  CHECK(members(none).empty());
  CHECK_FALSE(entries(none).has_value());
  CHECK_FALSE(is_object(none));
  CHECK(text_in(none) == nullptr);
  CHECK_FALSE(bool_in(none).has_value());
  CHECK_FALSE(number_in(none).has_value());
  CHECK_FALSE(integer_in(none).has_value());
  CHECK(text_at(none, "b").empty());
}

TEST_CASE("a value is of one kind only") {
  const ParsedJson read = json_or_null(R"([true, 1, 1.5, "1", -1, 18446744073709551615])");
  const auto list = *entries(&*read);
  CHECK(bool_in(list[0]) == true);
  CHECK_FALSE(integer_in(list[0]).has_value());
  CHECK(number_in(list[1]) == 1.0);
  CHECK(number_in(list[2]) == 1.5);
  CHECK_FALSE(integer_in(list[2]).has_value());
  CHECK_FALSE(number_in(list[3]).has_value());
  CHECK(integer_in(list[4]) == -1);
  CHECK_FALSE(integer_in(list[5]).has_value());
}

}  // namespace
}  // namespace ddprun
