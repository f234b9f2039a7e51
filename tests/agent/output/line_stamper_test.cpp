#include "agent/output/line_stamper.hpp"

#include <cstdlib>
#include <ctime>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

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

}  // namespace
}  // namespace ddprun
