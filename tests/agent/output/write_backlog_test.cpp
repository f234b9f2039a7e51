#include "agent/output/write_backlog.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = WriteBacklog::kPatience;
constexpr std::size_t kBytesMax = WriteBacklog::kBytesMax;
constexpr TimePoint kStart{1h};

TEST_CASE("a folder hangs that has answered nothing for as long as it is given") {
  WriteBacklog backlog;
  CHECK_FALSE(backlog.hangs_at(kPatience));
  CHECK_FALSE(backlog.begins_to_hang(kPatience, kStart));
  REQUIRE(backlog.take(1, kStart));
  CHECK(backlog.hangs_at(kPatience) == kStart + 5s);
  CHECK_FALSE(backlog.begins_to_hang(kPatience, kStart + 4999ms));
  CHECK(backlog.begins_to_hang(kPatience, kStart + 5s));
  CHECK(backlog.hangs());
  CHECK_FALSE(backlog.begins_to_hang(kPatience, kStart + 10s));  // that is no news
  CHECK_FALSE(backlog.hangs_at(kPatience));
}

TEST_CASE("a folder that answers slowly does not hang") {
  WriteBacklog backlog;
  REQUIRE(backlog.take(2, kStart));
  backlog.written(1, kStart + 4s);
  CHECK_FALSE(backlog.begins_to_hang(kPatience, kStart + 8s));
  backlog.written(1, kStart + 8s);
  CHECK(backlog.is_empty());
  backlog.begin(kStart + 100s);  // nothing waited before
  CHECK(backlog.hangs_at(kPatience) == kStart + 105s);
  REQUIRE(backlog.take(1, kStart + 104s));
  CHECK(backlog.hangs_at(kPatience) == kStart + 105s);
  backlog.end(kStart + 104s);
  CHECK(backlog.hangs_at(kPatience) == kStart + 109s);
  CHECK_FALSE(backlog.is_empty());
}

TEST_CASE("a folder that answers again hangs no longer, and may hang once more") {
  WriteBacklog backlog;
  REQUIRE(backlog.take(2, kStart));
  REQUIRE(backlog.begins_to_hang(kPatience, kStart + 5s));
  backlog.written(1, kStart + 60s);
  CHECK_FALSE(backlog.hangs());
  CHECK_FALSE(backlog.begins_to_hang(kPatience, kStart + 64s));
  CHECK(backlog.begins_to_hang(kPatience, kStart + 65s));
}

TEST_CASE("who has more to write waits for a slow folder, and never for one that hangs") {
  WriteBacklog backlog;
  REQUIRE(backlog.take(kBytesMax - 1, kStart));
  CHECK_FALSE(backlog.is_full());
  REQUIRE(backlog.take(1, kStart));
  CHECK(backlog.is_full());
  REQUIRE(backlog.begins_to_hang(kPatience, kStart + 5s));
  CHECK_FALSE(backlog.is_full());
  backlog.written(1, kStart + 6s);
  CHECK(backlog.is_full());
  backlog.written(kBytesMax / 2 - 2, kStart + 6s);
  CHECK(backlog.is_full());
  backlog.written(1, kStart + 6s);
  CHECK_FALSE(backlog.is_full());
  REQUIRE(backlog.take(kBytesMax / 2 - 1, kStart + 6s));
  CHECK_FALSE(backlog.is_full());
  REQUIRE(backlog.take(1, kStart + 6s));
  CHECK(backlog.is_full());
}

TEST_CASE("what a worker wrote last finds room, and memory has its limit") {
  WriteBacklog backlog;
  REQUIRE(backlog.take(kBytesMax, kStart));
  REQUIRE(backlog.take(WriteBacklog::kBytesTaken - kBytesMax, kStart));
  CHECK_FALSE(backlog.take(1, kStart));
  CHECK(backlog.bytes() == WriteBacklog::kBytesTaken);
  REQUIRE(backlog.begins_to_hang(kPatience, kStart + 5s));
  backlog.written(WriteBacklog::kBytesTaken - kBytesMax, kStart + 6s);
  REQUIRE(backlog.begins_to_hang(kPatience, kStart + 11s));
  CHECK_FALSE(backlog.take(1, kStart + 11s));
  backlog.written(1, kStart + 12s);
  CHECK(backlog.take(1, kStart + 12s));
}

}  // namespace
}  // namespace ddprun
