#include "agent/output/line_buffer.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("LineBuffer passes whole lines on and holds the unfinished one back") {
  LineBuffer lines;
  CHECK(lines.feed("one\ntwo\nthr") == "one\ntwo\n");
  CHECK(lines.feed("ee").empty());
  CHECK(lines.feed("\nfour") == "three\n");
  CHECK(lines.take_rest() == "four");
  CHECK(lines.empty());
}

TEST_CASE("LineBuffer passes a progress bar on as it is redrawn") {
  LineBuffer lines;
  CHECK(lines.feed("10%\r20%\r3") == "10%\r20%\r");
}

TEST_CASE("LineBuffer holds a line of any length in bounded memory, and loses nothing") {
  LineBuffer lines;
  const std::string part(10'000, 'x');
  std::size_t passed = 0;
  for (int i = 0; i < 100; ++i) passed += lines.feed(part).size();
  CHECK(passed > 1'000'000 - LineBuffer::kHeldBytesMax - part.size());
  CHECK(passed + lines.take_rest().size() == 1'000'000);
}

TEST_CASE("LineBuffer takes every byte, also those that are no text") {
  LineBuffer lines;
  const std::string bytes{"\0\xff\n\x01", 4};
  const std::string passed = lines.feed(bytes);
  CHECK(passed + lines.take_rest() == bytes);
}

TEST_CASE("a carriage return waits for the newline that may follow it") {
  LineBuffer lines;
  CHECK(lines.feed("dos\r").empty());
  CHECK(lines.feed("\nx") == "dos\r\n");
  CHECK(lines.feed("\ry") == "x\r");
  LineBuffer bare;
  CHECK(bare.feed("\r").empty());
  CHECK(bare.feed("\r").empty());
  CHECK(bare.take_rest() == "\r\r");
}

}  // namespace
}  // namespace ddprun
