#include "rendezvous/rounds/door.hpp"

#include <spdlog/spdlog.h>

#include <boost/asio/buffer.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/endpoint_text.hpp"

namespace ddprun {

namespace {

using asio::ip::tcp;
using namespace std::string_view_literals;

constexpr char kLocked[] =
    "this job has a secret, and this node was started without it: see --secret-file";

// A fatal alert, handshake_failure (RFC 8446, sections 5.1 and 6), for a TLS client where there is
// no secret.
constexpr std::string_view kHandshakeFailure = "\x15\x03\x03\x00\x02\x02\x28"sv;

/// Sends what fits at once: nobody waits for a peer that is turned away.
void say(tcp::socket& socket, std::string_view words) {
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(words), ignored);
}

std::string peer_of(const tcp::socket& socket) {
  boost::system::error_code gone;
  return endpoint_text(socket.remote_endpoint(gone));
}

}  // namespace

bool Door::admits(tcp::socket& socket, std::string_view head) {
  const bool tls = head.front() == kTlsFirstByte;
  if (tls == (tls_ != nullptr)) return true;
  if (tls) {
    say(socket, kHandshakeFailure);
    turn_away(peer_of(socket), "it comes with a secret, and there is none here");
  } else {
    if (head.front() == kAgentFirstByte) say(socket, encode(CoordinatorMessage{Refused{kLocked}}));
    turn_away(peer_of(socket), "it does not encrypt, and there is a secret here");
  }
  return false;
}

bool Door::is_agent(std::string_view head) const {
  return tls_ != nullptr || head.front() == kAgentFirstByte;
}

std::shared_ptr<Channel> Door::open(tcp::socket socket, std::string head) const {
  return std::make_shared<Channel>(std::move(socket), std::move(head),
                                   tls_ ? std::make_unique<TlsSession>(tls_) : nullptr);
}

Result<void> Door::may_join(const Channel& channel, const Join& join) const {
  if (!tls_) return {};
  if (channel.proven_run_id() != join.run_id)
    return Error{Error::Kind::kDenied, "its secret is that of another job"};
  if (join.terms.store == StoreAt::kLeader)
    return Error{Error::Kind::kDenied, "a job with a secret has its store inside: --store local"};
  return {};
}

void Door::failed(const Channel& channel, const Error& error) {
  if (tls_ && error.kind == Error::Kind::kDenied) return turn_away(channel.peer(), error.message);
  spdlog::info("{} is no agent: {}", channel.peer(), error.message);
}

void Door::turn_away(const std::string& peer, std::string_view why) {
  if (const auto left_out = log_gate_.pass(Clock::now()))
    spdlog::warn("turned away {}: {}{}", peer, why,
                 *left_out > 0 ? fmt::format(" ({} more were)", *left_out) : "");
}

}  // namespace ddprun
