#include "rendezvous/transport/fresh_secret.hpp"

#include <cerrno>
#include <cstring>

#include "base/system/linux_calls.hpp"

namespace ddprun {

Result<Secret> fresh_secret() {
  Secret::Bytes bytes{};
  // Up to 256 bytes come in one piece (getrandom(2)).
  if (random_bytes(bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()))
    return Secret{bytes};
  return Error{
      Error::Kind::kUnavailable,
      std::string{"the system has no random numbers for a secret: "} + std::strerror(errno)};
}

}  // namespace ddprun
