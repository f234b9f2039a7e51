#include "rendezvous/wire/fresh_secret.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

namespace ddprun {

Result<Secret> fresh_secret() {
  Secret::Bytes bytes{};
  // Up to 256 bytes come in one piece (getrandom(2)).
  if (getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()))
    return Secret{bytes};
  return Error{
      Error::Kind::kUnavailable,
      std::string{"the system has no random numbers for a secret: "} + std::strerror(errno)};
}

}  // namespace ddprun
