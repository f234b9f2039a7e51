#include "base/system/fresh_token.hpp"

#include <array>

#include "base/system/linux_calls.hpp"

namespace ddprun {

std::string fresh_token() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::array<unsigned char, 32> bytes{};
  // Up to 256 bytes come in one piece.
  if (random_bytes(bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return "";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kDigits[byte / 16];
    token += kDigits[byte % 16];
  }
  return token;
}

}  // namespace ddprun
