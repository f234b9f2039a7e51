#include "rendezvous/etcd/members_writer.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

TEST_CASE("members that are to be written once more are held meanwhile, and others are not") {
  const TimePoint granted{1h};
  MembersWriter writer{5s};
  writer.grant({.id = 1, .ttl = 120s, .sent = granted});
  writer.want({"n1", "n2"}, 0);
  CHECK(writer.held_until() == TimePoint{});
  CHECK(writer.written(7, {"n1", "n2"}));
  const TimePoint held = writer.held_until();
  CHECK(held > granted + 60s);

  writer.want({"n1", "n2"}, 1);
  CHECK(writer.is_wanted());
  CHECK(writer.held_until() == held);
  writer.want({"n1"}, 1);
  CHECK(writer.held_until() == TimePoint{});
}

}  // namespace
}  // namespace ddprun
