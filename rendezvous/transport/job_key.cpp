#include "rendezvous/transport/job_key.hpp"

#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/ssl.h>

#include <array>
#include <memory>
#include <stdexcept>

namespace ddprun {

namespace {

// The salt is a fixed text that no other use of the secret has, with the version of the derivation.
constexpr std::string_view kSalt = "ddprun job key 1";

struct Free {
  void operator()(EVP_KDF* kdf) const { EVP_KDF_free(kdf); }
  void operator()(EVP_KDF_CTX* context) const { EVP_KDF_CTX_free(context); }
};

OSSL_PARAM octets(const char* name, const void* bytes, std::size_t size) {
  return OSSL_PARAM_construct_octet_string(name, const_cast<void*>(bytes), size);
}

/// HKDF with `use` and the run id as its info. A zero byte, which no run id has, is between them.
Secret derive(const Secret& secret, std::string_view use, const std::string& run_id) {
  const std::string info = std::string{use} + '\0' + run_id;
  std::string digest = "SHA256";
  const std::array parameters{
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
      octets(OSSL_KDF_PARAM_KEY, secret.bytes().data(), secret.bytes().size()),
      octets(OSSL_KDF_PARAM_SALT, kSalt.data(), kSalt.size()),
      octets(OSSL_KDF_PARAM_INFO, info.data(), info.size()), OSSL_PARAM_construct_end()};
  const std::unique_ptr<EVP_KDF, Free> kdf{EVP_KDF_fetch(nullptr, "HKDF", nullptr)};
  const std::unique_ptr<EVP_KDF_CTX, Free> context{EVP_KDF_CTX_new(kdf.get())};
  Secret::Bytes bytes{};
  if (!context || EVP_KDF_derive(context.get(), bytes.data(), bytes.size(), parameters.data()) != 1)
    throw std::runtime_error{"OpenSSL cannot derive a key"};
  return Secret{bytes};
}

}  // namespace

void begin_openssl() {
  static const bool done = [] {
    return OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_SSL_STRINGS, nullptr) ==
           1;
  }();
  if (!done) throw std::runtime_error{"OpenSSL cannot begin"};
}

JobKey job_key(const Secret& secret, const std::string& run_id) {
  begin_openssl();
  return {run_id, to_text(derive(secret, "identity", run_id)), derive(secret, "key", run_id)};
}

}  // namespace ddprun
