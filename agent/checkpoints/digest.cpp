#include "agent/checkpoints/digest.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ddprun {

struct Digest::State {
  XXH3_state_t xxh3;
};

Digest::Digest() : state_{std::make_unique<State>()} { XXH3_128bits_reset(&state_->xxh3); }

Digest::~Digest() = default;

void Digest::add(const char* bytes, std::size_t size) {
  XXH3_128bits_update(&state_->xxh3, bytes, size);
}

std::string Digest::text() const {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(&state_->xxh3));
  std::string text;
  for (const unsigned char byte : bytes.digest)
    for (const int digit : {byte >> 4, byte & 15}) text += "0123456789abcdef"[digit];
  return text;
}

}  // namespace ddprun
