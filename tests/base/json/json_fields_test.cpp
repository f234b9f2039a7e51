#include "base/json/json_fields.hpp"

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

enum class Color { kRed, kGreen };

struct Point {
  int x = 0;
  double y = 0;
  bool operator==(const Point&) const = default;
};

struct Sizes {
  std::int8_t i8 = 0;
  std::uint8_t u8 = 0;
  std::int16_t i16 = 0;
  std::uint16_t u16 = 0;
  std::int32_t i32 = 0;
  std::uint32_t u32 = 0;
  std::int64_t i64 = 0;
  std::uint64_t u64 = 0;
  bool operator==(const Sizes&) const = default;
};

struct Everything {
  std::string name;
  std::vector<std::string> words;
  std::map<std::string, std::string> notes;
  bool yes = false;
  Color color = Color::kRed;
  Point place;
  std::vector<Point> path;
  std::optional<Point> goal;
  std::optional<std::vector<int>> numbers;
  int known = -1;
  double share = -1;
  std::string remark;
  int there = 7;
  Sizes sizes;
  bool operator==(const Everything&) const = default;
};

}  // namespace

// clang-format off
namespace fields {
template <> inline constexpr auto kNames<Color> = std::to_array<Named>({
    {Color::kRed, "red"}, {Color::kGreen, "green"}});
template <> inline constexpr auto kFields<Point> = message("point",
    field<&Point::x>("x"), field<&Point::y>("y"));
template <> inline constexpr auto kFields<Sizes> = table(
    field<&Sizes::i8>("i8"), field<&Sizes::u8>("u8"), field<&Sizes::i16>("i16"),
    field<&Sizes::u16>("u16"), field<&Sizes::i32>("i32"), field<&Sizes::u32>("u32"),
    field<&Sizes::i64>("i64"), field<&Sizes::u64>("u64"));
template <> inline constexpr auto kFields<Everything> = table(
    text<&Everything::name>("name", {8}), texts<&Everything::words>("words", {4}, 2),
    texts<&Everything::notes>("notes", {8}, 2), field<&Everything::yes>("yes"),
    field<&Everything::color>("color"), field<&Everything::place>("place"),
    list<&Everything::path>("path", 2), field<&Everything::goal>("goal"),
    field<&Everything::numbers>("numbers"), if_known(field<&Everything::known>("known")),
    if_known(field<&Everything::share>("share")),
    if_any(text<&Everything::remark>("remark", {8})), may_miss(field<&Everything::there>("there")),
    inlined<&Everything::sizes>());
}  // namespace fields
// clang-format on

namespace {

using nlohmann::json;

json with(const char* name, json value) {
  json out = fields::to_object(Everything{});
  out[name] = std::move(value);
  return out;
}

std::string refusal(const json& in) {
  try {
    fields::from_object<Everything>(in, "it");
    return "";
  } catch (const fields::Unfit& unfit) {
    return unfit.what();
  }
}

std::string refusal_of(const char* name, json value) {
  return refusal(with(name, std::move(value)));
}

TEST_CASE("a struct is the same after it was written and read") {
  const Everything full{.name = "a",
                        .words = {"b", "c"},
                        .notes = {{"d", "e"}},
                        .yes = true,
                        .color = Color::kGreen,
                        .place = {1, 2.5},
                        .path = {{3, 4}, {5, 6}},
                        .goal = Point{7, 8},
                        .numbers = {{9, 10}},
                        .known = 11,
                        .share = 0.5,
                        .remark = "f",
                        .there = 12,
                        .sizes = {-128, 255, -32768, 65535, -2147483647 - 1, 4294967295U,
                                  std::numeric_limits<std::int64_t>::min(),
                                  std::numeric_limits<std::uint64_t>::max()}};
  for (const Everything& value : {full, Everything{}})
    CHECK(fields::from_text<Everything>(fields::to_text(value), "it") == value);
}

TEST_CASE("texts are cut, and of many the rest is left out") {
  const auto out = fields::to_object(Everything{.name = "123456789",
                                                .words = {"a", "12345", "c"},
                                                .notes = {{"1", ""}, {"2", ""}, {"3", ""}},
                                                .path = {{1, 0}, {2, 0}, {3, 0}}});
  CHECK(out["name"] == "12345…");
  CHECK(out["words"] == json{"1…", "c"});
  CHECK(out["notes"] == json{{"1", ""}, {"2", ""}});
  CHECK(out["path"].size() == 2);
  CHECK(out["path"][1]["x"] == 2);
}

TEST_CASE("what is not known or empty is left out") {
  const auto out = fields::to_object(Everything{});
  for (const char* name : {"goal", "numbers", "known", "share", "remark", "sizes"})
    CHECK_FALSE(out.contains(name));
  for (const char* name : {"there", "yes", "words", "i8"}) CHECK(out.contains(name));
}

TEST_CASE("a missing field is an error, unless it is optional") {
  json in = fields::to_object(Everything{});
  in.erase("there");
  CHECK(refusal(in).empty());
  CHECK(refusal_of("remark", nullptr).empty());
  in.erase("u8");
  CHECK(refusal(in) == "'u8' is missing in 'it'");
  CHECK(refusal(with("place", {{"x", 1}})) == "'y' is missing in 'place'");
  CHECK(refusal(json::array()) == "'it' is [], and an object was expected");
}

TEST_CASE("an unsuitable value is an error") {
  CHECK(refusal_of("i8", 128) == "'i8' is 128, and a whole number from -128 to 127 was expected");
  CHECK(refusal_of("i8", -129) == "'i8' is -129, and a whole number from -128 to 127 was expected");
  CHECK(refusal_of("u8", 256) == "'u8' is 256, and a whole number from 0 to 255 was expected");
  CHECK(refusal_of("u64", -1) ==
        "'u64' is -1, and a whole number from 0 to 18446744073709551615 was expected");
  CHECK(refusal_of("i64", 9223372036854775808U) ==
        "'i64' is 9223372036854775808, and a whole number from -9223372036854775808 to "
        "9223372036854775807 was expected");
  CHECK(refusal_of("i32", 2.0) ==
        "'i32' is 2.0, and a whole number from -2147483648 to 2147483647 was expected");
  CHECK(refusal_of("color", "blue") == "'color' is \"blue\", and red or green was expected");
  CHECK(refusal_of("name", 3) == "'name' is 3, and a text was expected");
  CHECK(refusal_of("yes", 1) == "'yes' is 1, and true or false was expected");
  CHECK(refusal_of("words", "a") == "'words' is \"a\", and a list of texts was expected");
  CHECK(refusal_of("words", {1}) == "'words' is 1, and a text was expected");
  CHECK(refusal_of("notes", json::array()) == "'notes' is [], and an object of texts was expected");
  CHECK(refusal_of("path", 1) == "'path' is 1, and a list of objects was expected");
  CHECK(refusal_of("place", {{"x", 1}, {"y", "far"}}) ==
        "'y' is \"far\", and a number was expected");
  CHECK(refusal_of("goal", nullptr) == "'goal' is null, and an object was expected");
}

TEST_CASE("a message has a type and a newline, and what is no UTF-8 is replaced or refused") {
  CHECK(fields::to_line(Point{1, 0.5}) == "{\"type\":\"point\",\"x\":1,\"y\":0.5}\n");
  CHECK(*fields::to_strict_line(Point{1, 0.5}) == fields::to_line(Point{1, 0.5}));
  CHECK(fields::to_text(Point{1, 0.5}, JsonStyle::kLine, {"schema", "s"}) ==
        R"({"schema":"s","x":1,"y":0.5})");
  CHECK_THROWS_AS(fields::from_text<Point>("{", "it"), fields::Unfit);
}

TEST_CASE("the longest text of a struct is known when it is compiled") {
  static_assert(fields::longest<Point>() == 2 + 2 * (1 + 4 + 24));
  const Point far{std::numeric_limits<int>::min(), -2.2250738585072014e-308};
  CHECK(fields::to_text(far).size() <= fields::longest<Point>());
}

}  // namespace
}  // namespace ddprun
