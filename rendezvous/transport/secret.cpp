#include "rendezvous/transport/secret.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <stdexcept>

namespace ddprun {

namespace {

constexpr std::size_t kHexDigits = 2 * kSecretBytes;
constexpr std::size_t kBase64Characters = 44;  // as many as 32 bytes need, the last one a '='
constexpr std::string_view kWhiteSpace = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kWhiteSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kWhiteSpace) - begin + 1);
}

std::optional<Secret> from_hex(std::string_view digits) {
  Secret::Bytes bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* const begin = digits.data() + 2 * i;
    const auto [end, error] = std::from_chars(begin, begin + 2, bytes[i], 16);
    if (error != std::errc{} || end != begin + 2) return std::nullopt;
  }
  return Secret{bytes};
}

std::optional<Secret> from_base64(std::string_view text) {
  const auto* const characters = reinterpret_cast<const unsigned char*>(text.data());
  std::array<unsigned char, kSecretBytes + 1> decoded{};  // with a zero for the '='
  if (text.back() != '=' || text[text.size() - 2] == '=' ||
      EVP_DecodeBlock(decoded.data(), characters, static_cast<int>(text.size())) !=
          static_cast<int>(decoded.size()))
    return std::nullopt;
  Secret::Bytes bytes{};
  std::copy_n(decoded.begin(), bytes.size(), bytes.begin());
  return Secret{bytes};
}

}  // namespace

Secret::~Secret() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

Result<Secret> parse_secret(std::string_view text) {
  const std::string_view word = trimmed(text);
  std::optional<Secret> secret;
  if (word.size() == kHexDigits) secret = from_hex(word);
  if (word.size() == kBase64Characters) secret = from_base64(word);
  if (secret) return *secret;
  return invalid(
      "that is no secret: expected 64 hexadecimal digits or 32 bytes in base64, as `ddprun secret` "
      "prints them");
}

std::string to_text(const Secret& secret) {
  std::string text;
  text.reserve(kHexDigits);
  for (const unsigned char byte : secret.bytes()) {
    text += "0123456789abcdef"[byte / 16];
    text += "0123456789abcdef"[byte % 16];
  }
  return text;
}

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
