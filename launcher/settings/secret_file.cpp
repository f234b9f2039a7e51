#include "launcher/settings/secret_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/descriptor.hpp"
#include "base/system/silence_note.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kFileBytesMax = 4096;  // a secret is 64 characters and a newline

Error refused(const std::string& path, const std::string& why) {
  return invalid("'" + path + "' " + why);
}

Result<void> check(const struct stat& file, const std::string& path) {
  if (!S_ISREG(file.st_mode)) return refused(path, "is no file");
  if (file.st_uid != geteuid())
    return refused(path, fmt::format("belongs to the user with id {}, and ddprun runs as {}: a "
                                     "secret has to be a file of one's own",
                                     file.st_uid, geteuid()));
  if ((file.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return refused(path, fmt::format("may be read or written by others (mode {:04o}): chmod 600",
                                     file.st_mode & 07777));
  return {};
}

Result<Secret> read_secret(int descriptor, const std::string& path) {
  std::array<char, kFileBytesMax> text{};
  const ssize_t size = read(descriptor, text.data(), text.size());
  if (size < 0) return refused(path, std::string{"cannot be read: "} + std::strerror(errno));
  const auto secret = parse_secret({text.data(), static_cast<std::size_t>(size)});
  OPENSSL_cleanse(text.data(), text.size());
  if (!secret) return refused(path, "holds no secret: " + secret.error().message);
  return *secret;
}

}  // namespace

Result<Secret> read_secret_file(const std::string& path) {
  const SilenceNote note{path};
  return read_secret_at(AT_FDCWD, path, path);
}

Result<Secret> read_secret_at(int directory, const std::string& name, const std::string& path) {
  // O_NONBLOCK: somebody may have put a named pipe there, for which open() would wait.
  const Descriptor file{
      openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (!file.is_open() && errno == ELOOP)
    return refused(path, "is a symbolic link: name the file itself");
  struct stat what {};
  if (!file.is_open() || fstat(file.number(), &what) != 0)
    return refused(path, std::string{"cannot be opened: "} + std::strerror(errno));
  if (const auto fit = check(what, path); !fit) return fit.error();
  return read_secret(file.number(), path);
}

}  // namespace ddprun
