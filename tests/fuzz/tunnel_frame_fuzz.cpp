// Fuzzes the codec of the tunnel's frames: any bytes, whole and in pieces, must be cut into the
// same frames, and these written again must be the same bytes.
//
// The first byte of the input says how long the pieces are.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "rendezvous/messages/tunnel_frame.hpp"

namespace {

using namespace ddprun;

void require(bool condition) {
  if (!condition) std::abort();
}

/// The frames, written again, and how the bytes end.
std::string cuts(std::string_view bytes, std::size_t piece) {
  std::string frames;
  std::size_t begin = 0;
  std::size_t there = 0;
  for (;;) {
    const std::string_view known = bytes.substr(begin, there - begin);
    const auto read = read_frame(known);
    if (!read) {
      require(!read.error().message.empty());
      return frames + "invalid";
    }
    if (read->bytes > 0) {
      require(read->bytes <= known.size());
      write_frame(frames, read->frame);
      begin += read->bytes;
      require(frames == bytes.substr(0, begin));
    } else if (there == bytes.size()) {
      return frames + "more";
    } else {
      there += std::min(piece, bytes.size() - there);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
  const std::size_t piece = std::size_t{data[0]} + 1;
  require(cuts(bytes, piece) == cuts(bytes, bytes.size() + 1));
  return 0;
}
