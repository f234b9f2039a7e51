#include "base/system/fresh_names.hpp"

#include <array>

#include "base/system/linux_calls.hpp"
#include "base/system/whole_file.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace {

/// Without an id, a guardian would find no process of its job. The version and the variant are
/// those of a random UUID (RFC 9562).
std::string id_without_proc() {
  std::string id = fresh_token();
  if (id.empty()) return id;
  id.resize(32);
  id[12] = '4';
  id[16] = "89ab"[id[16] % 4];
  for (const int place : {8, 13, 18, 23}) id.insert(place, 1, '-');
  return id;
}

}  // namespace

std::string fresh_id() {
  std::string id{trimmed(text_if_any("/proc/sys/kernel/random/uuid"), "\n")};
  return id.empty() ? id_without_proc() : id;
}

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
