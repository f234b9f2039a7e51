#include "base/text.hpp"

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

using Lines = std::vector<std::string>;

TEST_CASE("a text has its lines, of which the last one may have no end") {
  CHECK(split_lines("").empty());
  CHECK(split_lines("a\n\nb") == Lines{"a", "", "b"});
  CHECK(split_lines("a\n") == Lines{"a"});
}

TEST_CASE("printable text stays as it is, in quotes") {
  CHECK(printable("") == "''");
  CHECK(printable("GET /a b~") == "'GET /a b~'");
}

TEST_CASE("every other byte is written as its number") {
  CHECK(printable("\r\n\t") == "'\\x0d\\x0a\\x09'");
  CHECK(printable(std::string{"\x00\x1f\x7f\x80\xff", 5}) == "'\\x00\\x1f\\x7f\\x80\\xff'");
}

TEST_CASE("64 bytes are shown, and what is longer is cut") {
  const std::string longest(64, 'x');
  CHECK(printable(longest) == "'" + longest + "'");
  CHECK(printable(longest + "y") == "'" + longest + "…'");
}

TEST_CASE("a line for the terminal keeps what people write, and no order to the terminal") {
  CHECK(plain_line("loss\t0.5, größer, 漢字, 🙂") == "loss\t0.5, größer, 漢字, 🙂");
  CHECK(plain_line("\x1b]0;owned\a") == "\\x1b]0;owned\\x07");
  CHECK(plain_line("one\ntwo\rthree") == "one\\x0atwo\\x0dthree");
  CHECK(plain_line(std::string{"\0\x7f", 2}) == "\\x00\\x7f");
  CHECK(plain_line("\xc2\x9b"
                   "31m") == "\\xc2\\x9b31m");  // CSI in one character
  CHECK(plain_line("\xc2\xa0") == "\xc2\xa0");
  CHECK(plain_line(plain_line("\x1b")) == "\\x1b");
}

TEST_CASE("bytes that are no UTF-8 are written as their numbers") {
  CHECK(plain_line("\x9b"
                   "31m") == "\\x9b31m");  // CSI of terminals without UTF-8
  CHECK(plain_line("a\xc3") == "a\\xc3");  // ends too early
  CHECK(plain_line("\xc3(") == "\\xc3(");
  CHECK(plain_line("\xc0\x9b") == "\\xc0\\x9b");                    // longer than it has to be
  CHECK(plain_line("\xe0\x82\x9b") == "\\xe0\\x82\\x9b");           // longer, too
  CHECK(plain_line("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // half of a pair of UTF-16
  CHECK(plain_line("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond the last one
}

TEST_CASE("a text keeps its lines") {
  CHECK(plain_text("one\n\ttwo\x1b[2J\n") == "one\n\ttwo\\x1b[2J\n");
}

}  // namespace
}  // namespace ddprun
