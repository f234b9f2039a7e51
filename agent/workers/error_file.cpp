#include "agent/workers/error_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace ddprun {

namespace {

/// Reads up to `most` bytes of a regular file. Of a pipe nothing is read, because it may never
/// answer, and the event loop would wait.
std::string beginning_of(const std::filesystem::path& path, std::size_t most) {
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return "";
  struct stat status {};
  std::string text(fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? most : 0, '\0');
  std::size_t there = 0;
  while (there < text.size()) {
    const ssize_t got = read(fd, text.data() + there, text.size() - there);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    there += static_cast<std::size_t>(got);
  }
  close(fd);
  text.resize(there);
  return text;
}

}  // namespace

std::optional<RecordedError> read_error_file(const std::filesystem::path& path) {
  const std::string text = beginning_of(path, kErrorFileBytesMax + 1);
  if (text.size() > kErrorFileBytesMax)
    return RecordedError{"(the record is longer than 1 MiB: look into its file)", ""};
  return parse_recorded_error(text);
}

void remove_error_file(const std::filesystem::path& path) {
  std::error_code ignored;  // mostly there is none
  std::filesystem::remove(path, ignored);
}

}  // namespace ddprun
