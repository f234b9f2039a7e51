#include "launcher/settings/file_ends.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/descriptor.hpp"
#include "base/system/silence_note.hpp"

namespace ddprun {

namespace {

constexpr off_t kHeadBytes = 4096;
constexpr off_t kTailBytes = 22 + 65'535;  // a zip's last record, and its comment

std::string bytes_at(int file, off_t offset, off_t size) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  const ssize_t count = pread(file, bytes.data(), bytes.size(), offset);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return bytes;
}

}  // namespace

FileEnds file_ends(const std::string& path) {
  const SilenceNote note{path};
  // O_NONBLOCK: a named pipe would be waited for, and another process may be about to write to it.
  struct stat what {};
  if (stat(path.c_str(), &what) != 0 || !S_ISREG(what.st_mode)) return {};
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file.is_open() || fstat(file.number(), &what) != 0 || !S_ISREG(what.st_mode)) return {};
  const off_t tail = std::min(what.st_size, kTailBytes);
  return {bytes_at(file.number(), 0, std::min(what.st_size, kHeadBytes)),
          bytes_at(file.number(), what.st_size - tail, tail)};
}

}  // namespace ddprun
