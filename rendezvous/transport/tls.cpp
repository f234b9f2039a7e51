#include "rendezvous/transport/tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <utility>

namespace ddprun {

namespace {

constexpr char kCipher[] = "TLS_AES_128_GCM_SHA256";  // its hash is that of the key, SHA-256
constexpr std::array<unsigned char, 2> kCipherCode{0x13, 0x01};
constexpr char kGroup[] = "X25519";

Error cannot_begin() {
  return {Error::Kind::kUnavailable, "OpenSSL cannot prepare TLS: not enough memory?"};
}

/// Alerts by which a peer says that it does not have, or does not know, our key (RFC 8446,
/// section 6.2). OpenSSL's peer without the key says handshake_failure.
bool denies(int alert) {
  return alert == SSL_AD_HANDSHAKE_FAILURE || alert == SSL_AD_ILLEGAL_PARAMETER ||
         alert == SSL_AD_DECRYPT_ERROR || alert == SSL_AD_UNKNOWN_PSK_IDENTITY ||
         alert == SSL_AD_ACCESS_DENIED;
}

/// What OpenSSL says without a key that it could use.
bool lacks_key(int reason) {
  return reason == SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM || reason == SSL_R_NO_SHARED_CIPHER ||
         reason == SSL_R_BINDER_DOES_NOT_VERIFY || reason == SSL_R_CERTIFICATE_VERIFY_FAILED;
}

/// What OpenSSL has noted about the operation that has just failed.
Error noted() {
  const unsigned long code = ERR_peek_error();
  const int reason = ERR_GET_REASON(code);
  const bool of_tls = ERR_GET_LIB(code) == ERR_LIB_SSL;
  if (of_tls && reason >= SSL_AD_REASON_OFFSET) {
    const int alert = reason - SSL_AD_REASON_OFFSET;
    return {denies(alert) ? Error::Kind::kDenied : Error::Kind::kInvalid,
            std::string{"the peer ended TLS: "} + SSL_alert_desc_string_long(alert)};
  }
  if (of_tls && lacks_key(reason))
    return {Error::Kind::kDenied, "the peer does not have the secret"};
  const char* const text = ERR_reason_error_string(code);
  return invalid(std::string{"what it sends is no TLS as expected: "} +
                 (text == nullptr ? "unknown" : text));
}

/// Makes a session of the key, as OpenSSL takes external keys. Returns nullptr without memory.
SSL_SESSION* session_of(SSL* ssl, const JobKey& key) {
  const SSL_CIPHER* const cipher = SSL_CIPHER_find(ssl, kCipherCode.data());
  SSL_SESSION* const session = SSL_SESSION_new();
  const auto& bytes = key.key.bytes();
  if (session != nullptr && cipher != nullptr &&
      SSL_SESSION_set1_master_key(session, bytes.data(), bytes.size()) == 1 &&
      SSL_SESSION_set_cipher(session, cipher) == 1 &&
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
    return session;
  SSL_SESSION_free(session);
  return nullptr;
}

}  // namespace

/// OpenSSL's way back to a session. None of these may throw, because C code calls them.
struct TlsCallbacks {
  static TlsSession& session(BIO* bio) { return *static_cast<TlsSession*>(BIO_get_data(bio)); }
  static TlsSession& session(SSL* ssl) { return *static_cast<TlsSession*>(SSL_get_app_data(ssl)); }

  static int write(BIO* bio, const char* bytes, int size) try {
    BIO_clear_retry_flags(bio);
    session(bio).output_.append(bytes, static_cast<std::size_t>(size));
    return size;
  } catch (const std::bad_alloc&) {
    return -1;
  }

  static int read(BIO* bio, char* into, int size) {
    BIO_clear_retry_flags(bio);
    TlsSession& self = session(bio);
    std::size_t count = std::min(static_cast<std::size_t>(size), self.input_.size());
    if (!self.established_) {
      if (count > 0 && self.handshake_bytes_ == kHandshakeBytesMax) return -1;
      count = std::min(count, kHandshakeBytesMax - self.handshake_bytes_);
      self.handshake_bytes_ += count;
    }
    if (count == 0) {
      BIO_set_retry_read(bio);
      return -1;
    }
    self.input_.copy(into, count);
    self.input_.remove_prefix(count);
    return static_cast<int>(count);
  }

  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  /// An agent offers its key.
  static int offer_key(SSL* ssl, const EVP_MD* digest, const unsigned char** identity,
                       std::size_t* identity_size, SSL_SESSION** offered) {
    const JobKey& key = *session(ssl).context_->key_;
    if (digest != nullptr && EVP_MD_get_type(digest) != NID_sha256) return 0;
    *identity = reinterpret_cast<const unsigned char*>(key.identity.data());
    *identity_size = key.identity.size();
    *offered = session_of(ssl, key);
    return *offered == nullptr ? 0 : 1;
  }

  /// A coordinator looks for the key that an agent offers. When there is none OpenSSL goes on
  /// without, and ends the handshake because it has no certificate either.
  static int find_key(SSL* ssl, const unsigned char* identity, std::size_t size,
                      SSL_SESSION** found) try {
    *found = nullptr;
    TlsSession& self = session(ssl);
    const auto key = self.context_->find({reinterpret_cast<const char*>(identity), size});
    if (!key) return 1;
    self.run_id_ = key->run_id;
    *found = session_of(ssl, *key);
    return *found == nullptr ? 0 : 1;
  } catch (const std::exception&) {  // no memory, or no lock
    return 0;
  }

  /// The bytes go straight from what was fed, and to what is sealed: a silent session keeps none.
  static BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
      BIO_METHOD* const fresh =
          BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "ddprun session");
      if (fresh == nullptr) throw std::bad_alloc{};
      BIO_meth_set_write(fresh, write);
      BIO_meth_set_read(fresh, read);
      BIO_meth_set_ctrl(fresh, control);
      return fresh;
    }();
    return made;
  }
};

void TlsContext::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

Result<std::shared_ptr<const TlsContext>> TlsContext::for_agent(JobKey key) {
  return make(std::move(key), {});
}

Result<std::shared_ptr<const TlsContext>> TlsContext::for_coordinator(FindJobKey find) {
  return make(std::nullopt, std::move(find));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::for_coordinator(JobKey key) {
  return for_coordinator([key = std::move(key)](std::string_view identity) {
    return identity == key.identity ? std::optional{key} : std::nullopt;
  });
}

Result<PeerTls> PeerTls::of_job(const JobKey& key) {
  auto accepts = TlsContext::for_coordinator(key);
  if (!accepts) return accepts.error();
  auto connects = TlsContext::for_agent(key);
  if (!connects) return connects.error();
  return PeerTls{std::move(*accepts), std::move(*connects)};
}

Result<std::shared_ptr<const TlsContext>> TlsContext::make(std::optional<JobKey> key,
                                                           FindJobKey find) {
  begin_openssl();
  std::shared_ptr<TlsContext> context{new TlsContext};
  context->key_ = std::move(key);
  context->find_ = std::move(find);
  if (const auto ready = context->set_up(); !ready) return ready.error();
  return std::shared_ptr<const TlsContext>{std::move(context)};
}

Result<void> TlsContext::set_up() {
  ssl_.reset(SSL_CTX_new(key_ ? TLS_client_method() : TLS_server_method()));
  SSL_CTX* const ssl = ssl_.get();
  if (ssl == nullptr || SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(ssl, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(ssl, kCipher) != 1 || SSL_CTX_set1_groups_list(ssl, kGroup) != 1 ||
      SSL_CTX_set_num_tickets(ssl, 0) != 1 || SSL_CTX_set_max_early_data(ssl, 0) != 1 ||
      SSL_CTX_set_recv_max_early_data(ssl, 0) != 1)
    return cannot_begin();
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET);
  // A key without a Diffie-Hellman exchange is not taken, and nothing is sent for old middleboxes.
  SSL_CTX_clear_options(ssl, SSL_OP_ALLOW_NO_DHE_KEX | SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
  SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);  // 32 KiB less for each agent that is silent
  if (key_) {
    // A coordinator that answers with a certificate in place of the key has one that is not
    // trusted.
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_psk_use_session_callback(ssl, TlsCallbacks::offer_key);
  } else {
    SSL_CTX_set_psk_find_session_callback(ssl, TlsCallbacks::find_key);
  }
  return {};
}

std::optional<JobKey> TlsContext::find(std::string_view identity) const {
  const std::lock_guard lock{finding_};
  return find_(identity);
}

void TlsSession::Free::operator()(ssl_st* ssl) const { SSL_free(ssl); }

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context)
    : context_{std::move(context)}, ssl_{SSL_new(context_->ssl_.get())} {
  BIO* const bio = ssl_ ? BIO_new(TlsCallbacks::method()) : nullptr;
  if (bio == nullptr) throw std::bad_alloc{};
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_app_data(ssl_.get(), this);
  if (!context_->key_) {
    SSL_set_accept_state(ssl_.get());
    return;
  }
  run_id_ = context_->key_->run_id;
  SSL_set_connect_state(ssl_.get());
  shake_hands();
}

void TlsSession::feed(std::string_view bytes) { input_ = bytes; }

Result<std::size_t> TlsSession::read(std::span<char> into) {
  shake_hands();
  std::size_t filled = 0;
  while (!failure_ && established_ && filled < into.size()) {
    ERR_clear_error();
    std::size_t count = 0;
    const int result = SSL_read_ex(ssl_.get(), into.data() + filled, into.size() - filled, &count);
    filled += count;
    if (result == 1) continue;
    const auto more = failed(result);
    if (more) break;
    failure_ = more.error();
  }
  if (filled > 0 || !failure_) return filled;
  return *failure_;
}

Result<std::string> TlsSession::seal(std::string_view plain) {
  std::size_t written = 0;
  if (!plain.empty()) {
    ERR_clear_error();
    if (failure_ || SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &written) != 1)
      return failure_.value_or(invalid("TLS cannot encipher"));
  }
  return std::exchange(output_, {});
}

void TlsSession::shake_hands() {
  if (failure_ || established_) return;
  if (const auto shaken = go_on(); !shaken) failure_ = shaken.error();
}

Result<void> TlsSession::go_on() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result != 1) return failed(result);
  if (SSL_session_reused(ssl_.get()) != 1)
    return Error{Error::Kind::kDenied, "the peer does not have the secret"};
  established_ = true;
  return {};
}

/// Returns nothing if more input is needed, and otherwise why the session has ended.
Result<void> TlsSession::failed(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return {};
    case SSL_ERROR_ZERO_RETURN:
      return Error{Error::Kind::kUnavailable, "connection closed"};
    case SSL_ERROR_SYSCALL:  // our own read() refuses
      return invalid("a TLS handshake of more than " + std::to_string(kHandshakeBytesMax) +
                     " bytes");
    default:
      return noted();
  }
}

}  // namespace ddprun
