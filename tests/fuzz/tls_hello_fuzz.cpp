// Fuzzes the handshake of TLS at both ends: any bytes, whole and in pieces, must neither establish
// a session nor let a byte through, and cost no more than the limit.
//
// The first byte of the input says how long the pieces are and, by its highest bit, which end
// hears them: the coordinator, or with the bit an agent.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "rendezvous/transport/tls.hpp"

namespace {

using namespace ddprun;

constexpr std::size_t kAnswerBytesMax = 16 * 1024;

void require(bool condition) {
  if (!condition) std::abort();
}

JobKey key() { return job_key(Secret{Secret::Bytes{1, 2, 3}}, "job"); }

std::shared_ptr<const TlsContext> agents() {
  static const auto context = TlsContext::for_agent(key()).value();
  return context;
}

std::shared_ptr<const TlsContext> coordinators() {
  static const auto context = TlsContext::for_coordinator(key()).value();
  return context;
}

void hear(TlsSession& session, std::string_view bytes) {
  std::array<char, 100> plain{};
  session.feed(bytes);
  const auto size = session.read(plain);
  if (!size) {
    require(!size.error().message.empty());
    require(!session.read(plain));  // and stays so
    require(!session.seal("a line\n"));
  } else {
    require(*size == 0);
  }
  require(!session.established() && session.run_id().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
  const std::size_t piece = std::size_t{data[0]} % 128 * 8 + 1;
  TlsSession session{data[0] < 128 ? coordinators() : agents()};
  std::size_t answered = 0;
  while (!bytes.empty()) {
    hear(session, bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    const auto answer = session.seal("");
    require(answer.has_value());
    answered += answer->size();
  }
  require(answered <= kAnswerBytesMax);
  return 0;
}
