#include "rendezvous/store/store_session.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("a long request in small pieces moves to a bigger block a few times only") {
  constexpr std::size_t kPiece = 64;
  constexpr int kPieces = 16'384;
  StoreInbox inbox;
  int growths = 0;
  for (int i = 0; i < kPieces; ++i) {
    const std::size_t before = inbox.capacity();
    CHECK_FALSE(inbox.buffer(kPiece).size() < kPiece);
    inbox.arrived(kPiece);
    growths += inbox.capacity() != before ? 1 : 0;
  }
  CHECK(inbox.unread().size() == kPieces * kPiece);
  CHECK(growths <= 20);  // about as often as 1 KiB doubles up to 1 MiB
}

TEST_CASE("a peer that announces much and sends little costs little") {
  StoreInbox inbox;
  inbox.buffer(std::size_t{1} << 40);
  CHECK(inbox.capacity() <= std::size_t{64} << 10);
}

}  // namespace
}  // namespace ddprun
