// Fuzzes the codec: any bytes, whole and in pieces, must be cut into the same requests.
//
// The first byte of the input says how long the pieces are.
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/match.hpp"
#include "rendezvous/store/store_protocol.hpp"
#include "tests/fuzz/fuzz_limits.hpp"

namespace {

using ddprun::RequestScanner;

void require(bool condition) {
  if (!condition) std::abort();
}

// Reads every field, so that a view beyond the bytes is found.
std::size_t touch(std::string_view text) {
  std::size_t sum = 0;
  for (const char byte : text) sum += static_cast<unsigned char>(byte);
  return sum;
}

std::size_t touch(const ddprun::StoreFields& fields, std::size_t per_item) {
  std::size_t sum = 0;
  auto reader = fields.read();
  for (std::size_t i = 0; i < fields.count * per_item; ++i) sum += touch(reader.next());
  return sum;
}

std::size_t touch(const ddprun::StoreRequest& request) {
  using namespace ddprun::store_request;
  return ddprun::match(
      request,  //
      [](const Set& r) { return touch(r.key) + touch(r.value); },
      [](const CompareSet& r) { return touch(r.key) + touch(r.expected) + touch(r.desired); },
      [](const Append& r) { return touch(r.key) + touch(r.value); },
      [](const QueuePush& r) { return touch(r.key) + touch(r.value); },
      [](const Check& r) { return touch(r.keys, 1); },
      [](const Wait& r) { return touch(r.keys, 1); },
      [](const MultiGet& r) { return touch(r.keys, 1); },
      [](const MultiSet& r) { return touch(r.pairs, 2); },
      [](const auto& r) {
        if constexpr (requires { r.key; }) return touch(r.key);
        return std::size_t{0};
      });
}

// How the stream is cut: the ends of its requests, and how it ends.
std::string cuts(std::string_view bytes, std::size_t piece) {
  std::string result;
  RequestScanner scanner{ddprun::kFuzzLimits};
  std::size_t begin = 0;
  std::size_t there = 0;
  for (;;) {
    const std::string_view known = bytes.substr(begin, there - begin);
    switch (scanner.scan(known)) {
      case RequestScanner::Progress::kInvalid:
        require(!scanner.error().message.empty());
        return result + "invalid";
      case RequestScanner::Progress::kMore:
        require(scanner.missing() > 0);
        if (there == bytes.size()) return result + "more";
        there += std::min(piece, bytes.size() - there);
        break;
      case RequestScanner::Progress::kComplete:
        require(scanner.size() > 0 && scanner.size() <= known.size());
        begin += scanner.size();
        result += std::to_string(begin) + ":" + std::to_string(touch(scanner.request(known))) + " ";
        scanner.restart();
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
