#include "agent/output/line_text.hpp"

#include <cstdlib>
#include <ctime>

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

/// The zone of this process while a test runs.
class Zone {
 public:
  explicit Zone(const char* name) { set(name); }
  ~Zone() { set("UTC"); }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;

 private:
  static void set(const char* name) {
    setenv("TZ", name, 1);
    tzset();
  }
};

TEST_CASE("a time stamp has milliseconds and the distance from UTC, in 30 bytes") {
  {
    const Zone zone{"UTC"};
    CHECK(time_stamp(1'000'000'000'007) == "2001-09-09T01:46:40.007+00:00 ");
  }
  const Zone east{"IST-5:30"};
  CHECK(time_stamp(1'000'000'000'007) == "2001-09-09T07:16:40.007+05:30 ");
  const Zone west{"XXX3:30"};
  CHECK(time_stamp(1'000'000'000'007) == "2001-09-08T22:16:40.007-03:30 ");
  CHECK(time_stamp(0).size() == 30);
}

TEST_CASE("each line has the time of its first byte") {
  LineStamper stamper;
  CHECK(stamper.stamped("one\ntw", "1 ") == "1 one\n1 tw");
  CHECK(stamper.stamped("o\nthree\n", "2 ") == "o\n2 three\n");
  CHECK(stamper.stamped("\n", "3 ") == "3 \n");
  CHECK(stamper.stamped("", "4 ").empty());
}

TEST_CASE("a progress bar is one line, and no byte is changed") {
  LineStamper stamper;
  CHECK(stamper.stamped("\r10%\r20%", "1 ") == "1 \r10%\r20%");
  CHECK(stamper.stamped("\r100%\n", "2 ") == "\r100%\n");
  const std::string bytes{"\0\xff\x1b", 3};
  CHECK(stamper.stamped(bytes, "3 ") == "3 " + bytes);
}

TEST_CASE("a prefix comes before every line, and a progress bar's redrawing") {
  CHECK(with_prefix("a\nb\n", "p:", true) == "p:a\np:b\n");
  CHECK(with_prefix("rest\nb", "p:", false) == "rest\np:b");
  CHECK(with_prefix("10%\r20%\r", "p:", true) == "p:10%\rp:20%\r");
  CHECK(with_prefix("dos\r\nline\r\n", "p:", true) == "p:dos\r\np:line\r\n");
  CHECK(with_prefix("", "p:", true).empty());
}

TEST_CASE("filters pick whole lines") {
  CHECK(matching_lines("one apple\ntwo\nbad apple", "p:", {"apple", "zoo"}) ==
        "p:one apple\np:bad apple\n");
  CHECK(matching_lines("", "p:", {"a"}).empty());
}

}  // namespace
}  // namespace ddprun
