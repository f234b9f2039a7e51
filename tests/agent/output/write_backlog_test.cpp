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
  CHECK(backlog.hangs_at(kPatience) == kStart + kPatience);
  CHECK_FALSE(backlog.begins_to_hang(kPatience, kStart + kPatience - 1ms));
  CHECK(backlog.begins_to_hang(kPatience, kStart + kPatience));
  CHECK(backlog.hangs());
  CHECK_FALSE(backlog.begins_to_hang(kPatience, kStart + 2 * kPatience));  // that is no news
  CHECK_FALSE(backlog.hangs_at(kPatience));
}

TEST_CASE("a folder that answers slowly does not hang") {
  WriteBacklog backlog;
  const TimePoint first = kStart + kPatience - 1s;
  REQUIRE(backlog.take(2, kStart));
  backlog.written(1, first);
  CHECK_FALSE(backlog.begins_to_hang(kPatience, first + kPatience - 1s));
  backlog.written(1, first + kPatience - 1s);
  CHECK(backlog.is_empty());
  const TimePoint again = kStart + 100s;
  backlog.begin(again);  // nothing waited before
  CHECK(backlog.hangs_at(kPatience) == again + kPatience);
  REQUIRE(backlog.take(1, again + 4s));
  CHECK(backlog.hangs_at(kPatience) == again + kPatience);
  backlog.end(again + 4s);
  CHECK(backlog.hangs_at(kPatience) == again + 4s + kPatience);
  CHECK_FALSE(backlog.is_empty());
}

TEST_CASE("a folder that answers again hangs no longer, and may hang once more") {
  WriteBacklog backlog;
  REQUIRE(backlog.take(2, kStart));
  REQUIRE(backlog.begins_to_hang(kPatience, kStart + kPatience));
  const TimePoint answers = kStart + 60s;
  backlog.written(1, answers);
  CHECK_FALSE(backlog.hangs());
  CHECK_FALSE(backlog.begins_to_hang(kPatience, answers + kPatience - 1s));
  CHECK(backlog.begins_to_hang(kPatience, answers + kPatience));
}

TEST_CASE("who has more to write waits for a slow folder, and never for one that hangs") {
  WriteBacklog backlog;
  REQUIRE(backlog.take(kBytesMax - 1, kStart));
  CHECK_FALSE(backlog.is_full());
  REQUIRE(backlog.take(1, kStart));
  CHECK(backlog.is_full());
  REQUIRE(backlog.begins_to_hang(kPatience, kStart + kPatience));
  CHECK_FALSE(backlog.is_full());
  backlog.written(1, kStart + 30s);
  CHECK(backlog.is_full());
  backlog.written(kBytesMax / 2 - 2, kStart + 30s);
  CHECK(backlog.is_full());
  backlog.written(1, kStart + 30s);
  CHECK_FALSE(backlog.is_full());
  REQUIRE(backlog.take(kBytesMax / 2 - 1, kStart + 30s));
  CHECK_FALSE(backlog.is_full());
  REQUIRE(backlog.take(1, kStart + 30s));
  CHECK(backlog.is_full());
}

TEST_CASE("what a worker wrote last finds room, and memory has its limit") {
  WriteBacklog backlog;
  REQUIRE(backlog.take(kBytesMax, kStart));
  REQUIRE(backlog.take(WriteBacklog::kBytesTaken - kBytesMax, kStart));
  CHECK_FALSE(backlog.take(1, kStart));
  CHECK(backlog.bytes() == WriteBacklog::kBytesTaken);
  REQUIRE(backlog.begins_to_hang(kPatience, kStart + kPatience));
  CHECK_FALSE(backlog.take(1, kStart + kPatience));
  backlog.written(1, kStart + 30s);
  CHECK(backlog.take(1, kStart + 30s));
}

}  // namespace
}  // namespace ddprun
