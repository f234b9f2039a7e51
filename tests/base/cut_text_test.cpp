#include "base/cut_text.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Keep = TextLimit::Keep;

TEST_CASE("a text within its limit stays as it is") {
  CHECK(cut("", {0}).empty());
  CHECK(cut("12345678", {8}) == "12345678");
  CHECK(cut("12345678", {8, Keep::kEnd}) == "12345678");
}

TEST_CASE("a longer text is cut, and shows it") {
  CHECK(cut("123456789", {8}) == "12345…");
  CHECK(cut("123456789", {8, Keep::kEnd}) == "…56789");
}

TEST_CASE("no character is cut in two, and no limit is exceeded") {
  const std::string text = "äé…🙂äé…🙂äé…🙂";
  for (std::size_t bytes = 3; bytes < text.size(); ++bytes) {
    for (const Keep keep : {Keep::kBeginning, Keep::kEnd}) {
      INFO(bytes << " bytes");
      const std::string kept = cut(text, {bytes, keep});
      CHECK(kept.size() <= bytes);
      CHECK(kept.size() + 3 >= bytes);
      const bool whole = keep == Keep::kEnd || kept.size() == 3 ||
                         text.starts_with(kept.substr(0, kept.size() - 3));
      CHECK(whole);
      // The first byte after the cut begins a character.
      const std::string rest = keep == Keep::kEnd ? kept.substr(3) : text.substr(kept.size() - 3);
      CHECK((rest.empty() || (static_cast<unsigned char>(rest[0]) & 0xc0U) != 0x80U));
    }
  }
}

TEST_CASE("bytes that are no text are cut all the same") {
  const std::string noise(1000, '\x80');
  CHECK(cut(noise, {100}).size() >= 97);
  CHECK(cut(noise, {100}).size() <= 100);
  CHECK(cut(noise, {100, Keep::kEnd}).size() >= 97);
}

TEST_CASE("columns are counted in characters, and colours take none") {
  CHECK(columns_of("äöü") == 3);
  CHECK(columns_of("\x1b[31mab\x1b[0m…") == 3);
}

TEST_CASE("a text is cut to columns between characters") {
  CHECK(cut_columns("abc", 3) == "abc");
  CHECK(cut_columns("abcd", 3) == "ab…");
  CHECK(cut_columns("äöüß", 3) == "äö…");
  CHECK(cut_columns("äöü", 3) == "äöü");
  CHECK(cut_columns("abc", 1) == "…");
  CHECK(cut_columns("abc", 0).empty());
}

TEST_CASE("a colour ends where its text is cut") {
  CHECK(cut_columns("\x1b[31mabcd\x1b[0m", 3) == "\x1b[31mab…\x1b[0m");
  CHECK(cut_columns("\x1b[31mabc\x1b[0m", 3) == "\x1b[31mabc\x1b[0m");
}

TEST_CASE("each line is cut by itself") {
  CHECK(cut_lines("abcd\nab\n\nabc", 3) == "ab…\nab\n\nabc");
  CHECK(cut_lines("abcd\n", 0) == "abcd\n");
}

}  // namespace
}  // namespace ddprun
