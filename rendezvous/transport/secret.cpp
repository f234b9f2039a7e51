#include "rendezvous/transport/secret.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <charconv>
#include <optional>

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

}  // namespace ddprun
