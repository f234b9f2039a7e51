#include <string>

#include "rendezvous/store/store_key.hpp"
#include "tests/support/catch.hpp"

using namespace ddprun;

TEST_CASE("SipHash has the value of its paper") {
  const SipKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::string bytes;
  for (char byte = 0; byte < 15; ++byte) bytes.push_back(byte);
  CHECK(SipHash<2, 4>{key}(bytes) == 0xa129ca6149be45e5);
}

TEST_CASE("a hash depends on its key and on every byte") {
  const SipKey key{1, 2};
  const auto hash = [&](std::string_view bytes) { return SipHash<1, 3>{key}(bytes); };
  CHECK(hash("/key") == hash("/key"));
  CHECK(hash("/key") != hash("/kez"));
  CHECK(hash("/key/0000") != hash("/key/0001"));
  CHECK(hash("") != hash(std::string_view{"\0", 1}));
  CHECK(hash("/key") != (SipHash<1, 3>{SipKey{1, 3}}("/key")));
}
