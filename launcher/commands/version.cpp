#include "launcher/commands/version.hpp"

#include <fmt/format.h>
#include <openssl/opensslv.h>

#include <boost/version.hpp>

#include "rendezvous/messages/message_limits.hpp"

namespace ddprun {

extern const char kCommit[];  // cmake/WriteCommit.cmake writes it

namespace {

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string c_library() {
#if defined(__GLIBC__)
  return fmt::format("glibc {}.{}", __GLIBC__, __GLIBC_MINOR__);
#else
  return "musl";
#endif
}

constexpr const char* processor() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "another processor";
#endif
}

constexpr const char* assertions() {
#if defined(NDEBUG)
  return "without assertions";
#else
  return "with assertions";
#endif
}

}  // namespace

std::string version_text() {
  return fmt::format(
      "ddprun {} (commit {})\n"
      "built by {} for {}, {}, {}\n"
      "with OpenSSL {}, Boost {}.{}.{}\n"
      "speaks protocol {}\n",
      DDPRUN_VERSION, kCommit, compiler(), processor(), c_library(), assertions(),
      OPENSSL_VERSION_STR, BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1'000,
      BOOST_VERSION % 100, kProtocolVersion);
}

}  // namespace ddprun
