#include "rendezvous/service/admission.hpp"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/system/endpoint_text.hpp"
#include "rendezvous/messages/messages.hpp"

namespace ddprun {

Newcomers::Place::Place(const Newcomers& newcomers, const asio::any_io_executor& executor)
    : time_{executor, newcomers.time_}, all_{newcomers.all_} {
  // Those that have to go leave the list when their coroutines end, so the first ones may have been
  // asked already: this asks as many as there are too many.
  std::size_t too_many =
      all_->size() + 1 > newcomers.places_ ? all_->size() + 1 - newcomers.places_ : 0;
  for (auto oldest = all_->begin(); too_many > 0; ++oldest, --too_many)
    (*oldest)->time_.expires_at(asio::steady_timer::time_point::min());
  at_ = all_->insert(all_->end(), this);
}

asio::awaitable<void> Newcomers::Place::has_to_go() {
  co_await time_.async_wait(asio::as_tuple(asio::use_awaitable));
}

void Newcomers::clear() {
  for (Place* place : *all_) place->time_.expires_at(asio::steady_timer::time_point::min());
}

namespace {

using asio::ip::tcp;
using namespace std::string_view_literals;

constexpr char kLocked[] =
    "this job has a secret, and this node was started without it: see --secret-file";

// This many peers are answered before a thread has begun.
constexpr std::size_t kFewNewcomers = 8;

// A fatal alert, handshake_failure (RFC 8446, sections 5.1 and 6), for a TLS client where there is
// no secret.
constexpr std::string_view kHandshakeFailure = "\x15\x03\x03\x00\x02\x02\x28"sv;

/// Sends what fits at once: the server does not wait for a peer that is turned away. What it has
/// said is read before, because a socket that is closed with something unread takes back what it
/// has sent.
void say(tcp::socket& socket, std::string_view words) {
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  std::array<char, 4096> unread{};
  socket.read_some(asio::buffer(unread), ignored);
  socket.write_some(asio::buffer(words), ignored);
}

std::string peer_of(const tcp::socket& socket) {
  boost::system::error_code gone;
  return endpoint_text(socket.remote_endpoint(gone));
}

}  // namespace

void Admission::lock(std::shared_ptr<const TlsContext> tls, int handshake_threads) {
  tls_ = std::move(tls);
  if (handshake_threads > 0) pool_ = std::make_unique<HandshakePool>(handshake_threads);
}

bool Admission::admits(tcp::socket& socket, char first) {
  const bool tls = first == kTlsFirstByte;
  if (tls == (tls_ != nullptr)) return true;
  if (tls) {
    say(socket, kHandshakeFailure);
    turned_away_.say("turned away {}: it comes with a secret, and there is none here",
                     peer_of(socket));
  } else {
    if (first == kAgentFirstByte) say(socket, encode(CoordinatorMessage{Refused{kLocked}}));
    turned_away_.say("turned away {}: it does not encrypt, and there is a secret here",
                     peer_of(socket));
  }
  return false;
}

bool Admission::is_agent(char first) const { return tls_ != nullptr || first == kAgentFirstByte; }

std::shared_ptr<Channel> Admission::open(tcp::socket socket) const {
  return std::make_shared<Channel>(std::move(socket),
                                   tls_ ? std::make_unique<TlsSession>(tls_) : nullptr);
}

HandshakePool* Admission::pool_for(std::size_t newcomers) const {
  return newcomers > kFewNewcomers ? pool_.get() : nullptr;
}

Result<void> Admission::may_speak_of(const Channel& channel, const std::string& run_id) const {
  if (!tls_ || channel.proven_run_id() == run_id) return {};
  return Error{Error::Kind::kDenied, "its secret is that of another job"};
}

Result<void> Admission::may_join(const Channel& channel, const Join& join) const {
  if (!tls_) return {};
  if (const auto proven = may_speak_of(channel, join.run_id); !proven) return proven.error();
  if (join.terms.store == StoreAt::kLeader)
    return Error{Error::Kind::kDenied, "a job with a secret has its store inside: --store local"};
  return {};
}

void Admission::failed(const Channel& channel, const Error& error) {
  if (tls_ && error.kind == Error::Kind::kDenied)
    turned_away_.say("turned away {}: {}", channel.peer(), error.message);
  else
    strangers_.say("{} is no agent: {}", channel.peer(), error.message);
}

}  // namespace ddprun
