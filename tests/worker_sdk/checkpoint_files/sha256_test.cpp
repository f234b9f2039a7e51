#include "worker_sdk/checkpoint_files/sha256.hpp"

#include "tests/support/catch.hpp"

namespace ddprun::sdk {
namespace {

TEST_CASE("a SHA-256 is that of sha256sum") {
  Sha256 sha256;
  sha256.update("ab", 2);
  sha256.update("c", 1);
  CHECK(sha256.hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace ddprun::sdk
