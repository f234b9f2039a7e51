#include "worker_sdk/data/gzip_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace ddprun::sdk {

namespace {

constexpr std::size_t kReadBytesMax = 1 << 30;  // gzread() counts in unsigned int

}  // namespace

GzipFile::GzipFile(const std::filesystem::path& path)
    : path_{path.string()}, file_{gzopen(path.c_str(), "rb"), gzclose} {
  if (!file_) throw std::runtime_error{"cannot open '" + path_ + "': " + std::strerror(errno)};
}

std::size_t GzipFile::read(void* to, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const auto part = static_cast<unsigned>(std::min(bytes - done, kReadBytesMax));
    const int got = gzread(file_.get(), static_cast<char*>(to) + done, part);
    check();
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

bool GzipFile::read_line(char* to, int size) {
  const bool got = gzgets(file_.get(), to, size) != nullptr;
  if (!got) check();
  return got;
}

void GzipFile::check() const {
  int error = Z_OK;
  const char* reason = gzerror(file_.get(), &error);
  if (error != Z_OK && error != Z_STREAM_END)
    throw std::runtime_error{"cannot read '" + path_ + "': " + reason};
}

}  // namespace ddprun::sdk
