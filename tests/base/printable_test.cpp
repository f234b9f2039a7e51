#include "base/printable.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

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
