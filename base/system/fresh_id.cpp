#include "base/system/fresh_id.hpp"

#include <array>
#include <fstream>

#include "base/system/linux_calls.hpp"

namespace ddprun {

namespace {

/// Without an id, a guardian would find no process of its job. The version and the variant are
/// those of a random UUID (RFC 9562).
std::string id_without_proc() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::array<unsigned char, 16> bytes{};
  if (random_bytes(bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return "";
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  std::string id;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) id += '-';
    id += kDigits[bytes[i] / 16];
    id += kDigits[bytes[i] % 16];
  }
  return id;
}

}  // namespace

std::string fresh_id() {
  std::ifstream uuid{"/proc/sys/kernel/random/uuid"};
  std::string id;
  std::getline(uuid, id);
  return id.empty() ? id_without_proc() : id;
}

}  // namespace ddprun
