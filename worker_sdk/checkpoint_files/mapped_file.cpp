#include "worker_sdk/checkpoint_files/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>

#include "worker_sdk/checkpoint_files/hashed_file.hpp"

namespace ddprun::sdk {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) fail_with_errno("open", path);
  const auto close_it = [](const int* one) { close(*one); };
  const std::unique_ptr<const int, decltype(close_it)> closed{&fd, close_it};
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
    throw std::runtime_error{"'" + path.string() + "' is no regular file"};
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (memory == MAP_FAILED) fail_with_errno("map", path);
  madvise(memory, size, MADV_WILLNEED);  // it is read from one end to the other
  bytes_ = {static_cast<std::byte*>(memory), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace ddprun::sdk
