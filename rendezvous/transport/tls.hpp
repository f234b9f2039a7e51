// TLS for the connections between agents and the coordinator: TLS 1.3 (RFC 8446) with a key that
// both ends have (section 2.2: an external pre-shared key with a Diffie-Hellman exchange, so that
// who learns the secret later cannot read what was recorded before). OpenSSL does it.
//
// There are no certificates, no tickets, no data before the handshake has ended, and one cipher:
// each connection proves the key again, and a recording of another one opens nothing.
//
// A TlsSession does no input and no output. A Channel gives it the bytes of its socket and takes
// from it those to send.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "rendezvous/transport/secret.hpp"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX, SSL and BIO, whose headers stay in tls.cpp
struct ssl_st;
struct bio_st;

namespace ddprun {

/// A TLS client begins with this byte: a handshake record (RFC 8446, section 5.1).
inline constexpr char kTlsFirstByte = 0x16;

/// A peer may send at most this many bytes before its handshake has ended. An agent sends about
/// 400.
inline constexpr std::size_t kHandshakeBytesMax = 4096;

/// What all connections of one end have in common.
class TlsContext {
 public:
  /// For the end that connects and says which job it is of. Errors: kUnavailable.
  static Result<std::shared_ptr<const TlsContext>> for_agent(JobKey key);
  /// For the end that accepts: `find` has the keys of its jobs. Whichever thread works on a session
  /// calls it, but never two at once. Errors: kUnavailable.
  static Result<std::shared_ptr<const TlsContext>> for_coordinator(FindJobKey find);
  /// As above, for a coordinator of one job.
  static Result<std::shared_ptr<const TlsContext>> for_coordinator(JobKey key);

 private:
  friend class TlsSession;
  friend struct TlsCallbacks;
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };

  TlsContext() = default;
  static Result<std::shared_ptr<const TlsContext>> make(std::optional<JobKey> key, FindJobKey find);
  Result<void> set_up();
  std::optional<JobKey> find(std::string_view identity) const;

  std::optional<JobKey> key_;  // an agent's own
  FindJobKey find_;            // a coordinator's
  mutable std::mutex finding_;
  std::unique_ptr<ssl_ctx_st, Free> ssl_;
};

/// Both ends of connections between nodes of one job; nullptr: the job has no secret.
struct PeerTls {
  std::shared_ptr<const TlsContext> accepts;
  std::shared_ptr<const TlsContext> connects;

  /// Errors: kUnavailable.
  static Result<PeerTls> of_job(const JobKey& key);
};

/// One connection. After an error it is of no more use, except that it may have last words to seal.
class TlsSession {
 public:
  /// An agent's session begins to speak at once: see seal().
  explicit TlsSession(std::shared_ptr<const TlsContext> context);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  /// Takes bytes of the peer. They must live until read() has returned 0 or an error.
  void feed(std::string_view bytes);

  /// Goes on with the handshake as far as what was fed allows: most of the work that read() does.
  /// An error is that of the next read().
  void shake_hands();

  /// Deciphers what was fed: fills `into` from its beginning, and returns how many bytes it has
  /// put there; 0: more has to be fed first. Errors: kDenied, when one end has not the key that the
  /// other asks for; kUnavailable, when the peer has ended the connection; kInvalid for all that is
  /// no TLS as here, and for more than kHandshakeBytesMax bytes without a handshake.
  Result<std::size_t> read(std::span<char> into);

  /// Enciphers `plain`, which is empty until the session is established. Returns what is to be sent
  /// now, beginning with what the handshake has to say. Errors: kInvalid, after an error of read().
  Result<std::string> seal(std::string_view plain);

  /// How many bytes of the handshake's own wait for seal().
  std::size_t waiting() const { return output_.size(); }

  /// Whether both ends have proven that they have the key.
  bool established() const { return established_; }

  /// The job whose key the peer has proven; "" until then.
  std::string run_id() const { return established_ ? run_id_ : ""; }

 private:
  friend struct TlsCallbacks;  // OpenSSL calls these
  struct Free {
    void operator()(ssl_st* ssl) const;
  };

  Result<void> go_on();
  Result<void> failed(int result);

  std::shared_ptr<const TlsContext> context_;
  std::unique_ptr<ssl_st, Free> ssl_;
  std::string_view input_;  // bytes that were fed and not yet read
  std::string output_;      // bytes that are to be sent
  std::string run_id_;      // names the key that the handshake uses
  std::size_t handshake_bytes_ = 0;
  bool established_ = false;
  std::optional<Error> failure_;
};

}  // namespace ddprun
