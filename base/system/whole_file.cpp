#include "base/system/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/descriptor.hpp"
#include "base/system/fresh_names.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kSmallFileBytesMax = 16 * 1024 * 1024;

/// A pipe, a terminal or /dev/null: a new file in its place would be another thing.
bool is_no_file(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

/// A pipe without a reader is refused instead of being waited for.
Result<void> write_to(const std::filesystem::path& path, std::string_view text) {
  const Descriptor open{::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  if (open.is_open()) fcntl(open.number(), F_SETFL, O_WRONLY);
  while (open.is_open() && !text.empty()) {
    const ssize_t written = ::write(open.number(), text.data(), text.size());
    if (written < 0 && errno != EINTR) break;
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
  if (text.empty()) return {};
  return Error{Error::Kind::kUnavailable,
               "cannot write to " + path.string() + ": " + std::strerror(errno)};
}

Error unread(int number) {
  return {number == ENOENT ? Error::Kind::kNotFound : Error::Kind::kDenied, std::strerror(number)};
}

}  // namespace

Result<void> write_whole(const std::filesystem::path& named, const std::string& text) {
  if (is_no_file(named)) return write_to(named, text);
  std::error_code none;
  const bool is_link = std::filesystem::is_symlink(named, none);
  const auto target = is_link ? std::filesystem::weakly_canonical(named, none) : named;
  const std::filesystem::path path = none ? named : target;
  std::filesystem::path fresh = path;
  fresh += "." + fresh_id() + ".tmp";  // several nodes may share the folder
  const auto refused = [&] {
    Error error{Error::Kind::kUnavailable,
                "cannot write " + path.string() + ": " + std::strerror(errno)};
    std::error_code ignored;
    std::filesystem::remove(fresh, ignored);
    return error;
  };
  {
    std::ofstream file{fresh, std::ios::binary | std::ios::trunc};
    file << text;
    file.close();
    if (!file) return refused();
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return refused();
  return {};
}

Result<std::string> read_text(const std::filesystem::path& path, std::size_t bytes_max,
                              ReadFrom from) {
  const bool files_alone = from == ReadFrom::kFiles;
  struct stat what {};
  if (::stat(path.c_str(), &what) != 0) return unread(errno);
  if (files_alone && !S_ISREG(what.st_mode))
    return Error{Error::Kind::kDenied, "it is no regular file"};
  if (S_ISDIR(what.st_mode)) return Error{Error::Kind::kDenied, "it is a directory"};
  // Somebody may put a pipe there meanwhile.
  const int no_wait = files_alone ? O_NONBLOCK : 0;
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC | no_wait)};
  if (!file.is_open()) return unread(errno);
  std::string text;
  for (std::array<char, 16 * 1024> chunk;;) {
    const ssize_t bytes = ::read(file.number(), chunk.data(), chunk.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return unread(errno);
    if (bytes == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(bytes));
    if (text.size() > bytes_max)
      return Error{Error::Kind::kInvalid,
                   "it has more than " + std::to_string(bytes_max) + " bytes"};
  }
}

std::string text_if_any(const std::filesystem::path& path) {
  auto text = read_text(path, kSmallFileBytesMax);
  return text ? *std::move(text) : "";
}

}  // namespace ddprun
