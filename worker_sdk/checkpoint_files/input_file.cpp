#include "worker_sdk/checkpoint_files/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "worker_sdk/checkpoint_files/hashed_file.hpp"

namespace ddprun::sdk {

InputFile::InputFile(const std::filesystem::path& path)
    : path_{path},
      fd_{open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)} {
  if (fd_ < 0 && errno == ELOOP)
    throw std::runtime_error{"'" + path_.string() + "' is a symbolic link, which is not followed"};
  if (fd_ < 0) fail_with_errno("open", path_);
  struct stat status {};
  const bool known = fstat(fd_, &status) == 0;
  if (known && S_ISREG(status.st_mode)) {
    bytes_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  close(fd_);
  throw std::runtime_error{"'" + path_.string() + "' is no regular file"};
}

InputFile::~InputFile() { close(fd_); }

std::size_t InputFile::read(std::span<std::byte> buffer) const {
  for (;;) {
    const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) fail_with_errno("read", path_);
  }
}

std::string InputFile::read_text(std::size_t bytes) const {
  std::string text(bytes, '\0');
  auto rest = std::as_writable_bytes(std::span{text});
  while (!rest.empty()) {
    const std::size_t got = read(rest);
    if (got == 0) throw std::runtime_error{"'" + path_.string() + "' ends too early"};
    rest = rest.subspan(got);
  }
  return text;
}

}  // namespace ddprun::sdk
