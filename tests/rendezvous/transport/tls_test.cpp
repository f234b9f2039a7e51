// Two ends of TLS in one process, without sockets: a test carries the bytes from one to the other,
// and may record or change them on the way.
#include "rendezvous/transport/tls.hpp"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <functional>
#include <memory>

#include "tests/support/catch.hpp"
#include "tests/support/job_keys.hpp"

namespace ddprun {
namespace {

/// One end, and what has become of it.
struct End {
  explicit End(Result<std::shared_ptr<const TlsContext>> context) : session{context.value()} {}

  /// Takes bytes of the other end.
  void hear(std::string_view bytes) {
    session.feed(bytes);
    std::array<char, 700> plain{};  // less than a record holds
    while (!error) {
      const auto size = session.read(plain);
      if (!size) error = size.error();
      if (!size || *size == 0) return;
      heard.append(plain.data(), *size);
    }
  }

  /// What it has to say to the other end now, with `plain` enciphered.
  std::string says(std::string_view plain = "") {
    const auto sealed = session.seal(plain);
    return sealed ? *sealed : "";
  }

  TlsSession session;
  std::string heard;
  std::optional<Error> error;
};

struct Agent : End {
  explicit Agent(JobKey key) : End{TlsContext::for_agent(std::move(key))} {}
};
struct Coordinator : End {
  explicit Coordinator(JobKey key) : End{TlsContext::for_coordinator(std::move(key))} {}
};

void shake_hands(End& agent, End& coordinator) {
  coordinator.hear(agent.says());
  agent.hear(coordinator.says());
  coordinator.hear(agent.says());
}

TEST_CASE("two ends with the same key hear each other, and nobody else reads it") {
  Agent agent{key_of(1)};
  Coordinator coordinator{key_of(1)};
  CHECK_FALSE(agent.session.established());
  shake_hands(agent, coordinator);
  REQUIRE(agent.session.established());
  REQUIRE(coordinator.session.established());

  const std::string there = agent.says("a line\n");
  const std::string back = coordinator.says("an answer\n");
  CHECK(there.find("line") == std::string::npos);
  CHECK(back.find("answer") == std::string::npos);
  coordinator.hear(there);
  agent.hear(back);
  CHECK(coordinator.heard == "a line\n");
  CHECK(agent.heard == "an answer\n");
}

TEST_CASE("the coordinator knows which job's key an agent has proven, and not before") {
  const auto context = TlsContext::for_coordinator([](std::string_view identity) {
    for (const char* run_id : {"one", "two"})
      if (JobKey key = key_of(1, run_id); key.identity == identity) return std::optional{key};
    return std::optional<JobKey>{};
  });
  for (const std::string run_id : {"one", "two"}) {
    Agent agent{key_of(1, run_id)};
    End coordinator{context};
    coordinator.hear(agent.says());
    CHECK(coordinator.session.run_id().empty());
    agent.hear(coordinator.says());
    coordinator.hear(agent.says());
    CHECK(coordinator.session.run_id() == run_id);
  }
}

TEST_CASE("without the same key both ends are denied, and nothing is heard") {
  const JobKey right = key_of(1);
  JobKey forged = key_of(2);
  forged.identity = right.identity;  // the name is public, the key is not
  for (const JobKey& wrong : {key_of(2), key_of(1, "another job"), forged}) {
    Agent agent{wrong};
    Coordinator coordinator{right};
    shake_hands(agent, coordinator);
    CHECK_FALSE(agent.session.established());
    CHECK_FALSE(coordinator.session.established());
    REQUIRE(coordinator.error.has_value());
    CHECK(coordinator.error->kind == Error::Kind::kDenied);
    REQUIRE(agent.error.has_value());
    CHECK(agent.error->kind == Error::Kind::kDenied);
    CHECK_FALSE(agent.session.seal("a line\n").has_value());
  }
}

TEST_CASE("a handshake that is cut off anywhere opens nothing") {
  const std::size_t size = Agent{key_of(1)}.says().size();
  for (std::size_t cut = 0; cut < size; cut += 13) {
    Agent agent{key_of(1)};
    Coordinator coordinator{key_of(1)};
    coordinator.hear(agent.says().substr(0, cut));
    CHECK_FALSE(coordinator.error.has_value());
    CHECK_FALSE(coordinator.session.established());
    CHECK(coordinator.says().empty());
  }
}

TEST_CASE("a handshake in single bytes is a handshake") {
  Agent agent{key_of(1)};
  Coordinator coordinator{key_of(1)};
  for (const char byte : agent.says()) coordinator.hear({&byte, 1});
  for (const char byte : coordinator.says()) agent.hear({&byte, 1});
  for (const char byte : agent.says() + agent.says("a line\n")) coordinator.hear({&byte, 1});
  CHECK(coordinator.heard == "a line\n");
}

TEST_CASE("what was recorded from an agent opens nothing when it is sent again") {
  Agent agent{key_of(1)};
  Coordinator coordinator{key_of(1)};
  const std::string hello = agent.says();
  coordinator.hear(hello);
  agent.hear(coordinator.says());
  const std::string rest = agent.says() + agent.says("a line\n");
  coordinator.hear(rest);
  REQUIRE(coordinator.heard == "a line\n");

  Coordinator again{key_of(1)};
  again.hear(hello);
  CHECK_FALSE(again.session.established());
  again.hear(rest);
  CHECK_FALSE(again.session.established());
  CHECK(again.heard.empty());
  CHECK(again.error.has_value());
}

TEST_CASE("a byte that was changed on the way ends the connection") {
  for (const bool in_handshake : {true, false}) {
    Agent agent{key_of(1)};
    Coordinator coordinator{key_of(1)};
    coordinator.hear(agent.says());
    agent.hear(coordinator.says());
    std::string finished = agent.says();
    std::string line = agent.says("a line\n");
    (in_handshake ? finished : line).back() ^= 1;
    coordinator.hear(finished + line);
    REQUIRE(coordinator.error.has_value());
    CHECK(coordinator.error->kind == Error::Kind::kInvalid);
    CHECK(coordinator.heard.empty());
  }
}

TEST_CASE("what is no TLS is an error, and nothing is heard") {
  for (const std::string& bytes :
       {std::string{"{\"type\":\"join\"}\n"}, std::string{"GET / HTTP/1.0\r\n\r\n"},
        std::string{"\x16\x03\x01\x00\x05hello", 10}, std::string{"\x17\x03\x03\x00\x05hello", 10},
        std::string(64, '\0'), std::string(64, '\xff')}) {
    INFO(bytes);
    Coordinator coordinator{key_of(1)};
    coordinator.hear(bytes);
    REQUIRE(coordinator.error.has_value());
    CHECK(coordinator.error->kind == Error::Kind::kInvalid);
    CHECK_FALSE(coordinator.error->message.empty());
    CHECK(coordinator.heard.empty());
  }
}

TEST_CASE("a handshake without end is cut at its limit") {
  Coordinator coordinator{key_of(1)};
  // A record of 16 KiB with the beginning of a ClientHello of 64 KiB.
  coordinator.hear(std::string{"\x16\x03\x01\x40\x00\x01\x01\x00\x00", 9});
  std::size_t sent = 9;
  while (!coordinator.error && sent < 3 * kHandshakeBytesMax) {
    coordinator.hear(std::string(100, '\x03'));
    sent += 100;
  }
  REQUIRE(coordinator.error.has_value());
  CHECK(sent <= kHandshakeBytesMax + 100);
  CHECK_THAT(coordinator.error->message, contains("4096"));
}

TEST_CASE("an error stays, whatever comes behind it") {
  Coordinator coordinator{key_of(1)};
  coordinator.hear("no TLS at all");
  REQUIRE(coordinator.error.has_value());
  const std::string first = coordinator.error->message;
  coordinator.error.reset();
  coordinator.hear(Agent{key_of(1)}.says());
  REQUIRE(coordinator.error.has_value());
  CHECK(coordinator.error->message == first);
}

TEST_CASE("megabytes arrive as they were") {
  Agent agent{key_of(1)};
  Coordinator coordinator{key_of(1)};
  shake_hands(agent, coordinator);
  std::string large(5'000'003, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7 + i / 251);
  const std::string sealed = coordinator.says(large);
  for (std::size_t at = 0; at < sealed.size(); at += 60'001)
    agent.hear(std::string_view{sealed}.substr(at, 60'001));
  CHECK(agent.heard == large);
}

// --- The same against peers that OpenSSL makes without us.

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

/// A peer over memory.
class Stranger {
 public:
  explicit Stranger(SSL_CTX* context) : ssl_{SSL_new(context)} {
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  }
  std::string speak(std::string_view heard, bool accepts) {
    if (!heard.empty())
      BIO_write(SSL_get_rbio(ssl_.get()), heard.data(), static_cast<int>(heard.size()));
    accepts ? SSL_accept(ssl_.get()) : SSL_connect(ssl_.get());
    std::string said(64 * 1024, '\0');
    const int size = BIO_read(SSL_get_wbio(ssl_.get()), said.data(), static_cast<int>(said.size()));
    said.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return said;
  }

 private:
  Owned<SSL> ssl_;
};

TEST_CASE("a coordinator with a certificate in place of the key is denied") {
  begin_openssl();
  const Owned<EVP_PKEY> key{EVP_EC_gen("P-256")};
  const Owned<X509> certificate{X509_new()};
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  REQUIRE(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
  const Owned<SSL_CTX> context{SSL_CTX_new(TLS_server_method())};
  REQUIRE(SSL_CTX_use_certificate(context.get(), certificate.get()) == 1);
  REQUIRE(SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1);

  Agent agent{key_of(1)};
  Stranger coordinator{context.get()};
  agent.hear(coordinator.speak(agent.says(), true));
  CHECK_FALSE(agent.session.established());
  REQUIRE(agent.error.has_value());
  CHECK(agent.error->kind == Error::Kind::kDenied);
}

TEST_CASE("an agent without a key, or with an older TLS, is denied") {
  begin_openssl();
  for (const int version : {TLS1_3_VERSION, TLS1_2_VERSION}) {
    const Owned<SSL_CTX> context{SSL_CTX_new(TLS_client_method())};
    SSL_CTX_set_max_proto_version(context.get(), version);
    Stranger agent{context.get()};
    Coordinator coordinator{key_of(1)};
    coordinator.hear(agent.speak("", false));
    CHECK_FALSE(coordinator.session.established());
    CHECK(coordinator.error.has_value());
    agent.speak(coordinator.says(), false);  // the alert
    coordinator.hear(agent.speak("", false));
    CHECK_FALSE(coordinator.session.established());
  }
}

}  // namespace
}  // namespace ddprun
