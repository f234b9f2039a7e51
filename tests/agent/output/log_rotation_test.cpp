#include "agent/output/log_rotation.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

constexpr RotationRule kTen{.bytes_max = 10, .files_max = 3};

TEST_CASE("without a rule everything goes into one file") {
  const LogRotation rotation{{}, 1'000'000};
  CHECK(rotation.fits(std::string(1000, 'x')) == 1000);
}

TEST_CASE("a file ends with the last line that fits") {
  LogRotation rotation{kTen, 0};
  CHECK(rotation.fits("one\ntwo\n12\n") == 8);
  CHECK(rotation.fits("one\ntwo\n1\n") == 10);
  rotation.written(8, '\n');
  CHECK(rotation.fits("three\n") == 0);
  rotation.begin_next();
  CHECK(rotation.fits("three\n") == 6);
}

TEST_CASE("a file that is full already when it is opened is not written to") {
  const LogRotation rotation{kTen, 12};
  CHECK(rotation.fits("x") == 0);
}

TEST_CASE("a line that has begun in a file ends there, unless it is endless") {
  LogRotation rotation{kTen, 0};
  rotation.written(7, 'x');
  CHECK(rotation.fits("yyyyyy\nnext\n") == 7);
  const std::string endless(100'000, 'y');
  CHECK(rotation.fits(endless) == LogRotation::kLineBytesMax + 3);
  LogRotation fresh{kTen, 0};
  CHECK(fresh.fits("a line of more than ten\nnext\n") == 24);
}

}  // namespace
}  // namespace ddprun
