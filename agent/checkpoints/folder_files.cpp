#include "agent/checkpoints/folder_files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>

#include "agent/checkpoints/digest.hpp"
#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;

Error system_error(const std::string& what, const fs::path& path) {
  return {Error::Kind::kUnavailable,
          "cannot " + what + " '" + plain_line(path.string()) + "': " + std::strerror(errno)};
}

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// A file that is written piece by piece.
Result<void> write_all(int file, const char* bytes, std::size_t size, const fs::path& path) {
  while (size > 0) {
    const ssize_t written = ::write(file, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error("write", path);
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return {};
}

/// Reads a file to its end. Returns its digest.
Result<std::string> read_through(const fs::path& path, const TakePiece& take, Pace& pace) {
  const Descriptor from{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  if (!from.is_open()) return system_error("read", path);
  const auto piece = std::make_unique<std::array<char, kPieceBytes>>();
  Digest digest;
  for (;;) {
    const ssize_t bytes = ::read(from.number(), piece->data(), piece->size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return system_error("read", path);
    if (bytes == 0) return digest.text();
    const auto size = static_cast<std::size_t>(bytes);
    digest.add(piece->data(), size);
    if (take)
      if (const auto taken = take({piece->data(), size}); !taken) return taken.error();
    if (!pace.spend(size)) return given_up();
  }
}

}  // namespace

Error given_up() { return {Error::Kind::kTimeout, "it was given up"}; }

std::string digest_of_text(std::string_view text) {
  Digest digest;
  digest.add(text.data(), text.size());
  return digest.text();
}

std::optional<FileFacts> facts_of(const fs::path& folder, const std::string& path,
                                  const fs::path& disk) {
  struct stat what {};
  const fs::path at = folder / path;
  if (::lstat(at.c_str(), &what) != 0) return std::nullopt;
  FileFacts facts{.path = path,
                  .modified_ns = nanoseconds(what.st_mtim),
                  .inode = static_cast<std::int64_t>(what.st_ino),
                  .mode = static_cast<int>(what.st_mode & 07777U)};
  if (S_ISREG(what.st_mode)) {
    facts.bytes = what.st_size;
  } else if (S_ISDIR(what.st_mode)) {
    facts.kind = FileFacts::Kind::kFolder;
  } else if (S_ISLNK(what.st_mode)) {
    facts.kind = FileFacts::Kind::kLink;
    std::error_code gone;
    facts.target = fs::read_symlink(at, gone).string();
    if (disk.empty() || facts.target != (disk / path).string()) return facts;
    facts.kind = FileFacts::Kind::kFile;
    facts.on_disk = true;
  } else {
    return std::nullopt;
  }
  return facts;
}

Result<FolderState> list_folder(const fs::path& folder, const fs::path& disk) {
  FolderState state;
  std::error_code failed;
  fs::recursive_directory_iterator next{folder, failed};
  for (; !failed && next != fs::recursive_directory_iterator{}; next.increment(failed)) {
    const std::string path = next->path().lexically_relative(folder).string();
    if (path.ends_with(kFreshEnding)) {
      next.disable_recursion_pending();
      continue;
    }
    if (plain_line(path) != path)
      return invalid("the name " + printable(path) + " has control characters, or is no UTF-8");
    if (state.size() >= kCheckpointFilesMax)
      return invalid(
          fmt::format("'{}' has more than {} files", folder.string(), kCheckpointFilesMax));
    if (auto facts = facts_of(folder, path, disk)) state.push_back(std::move(*facts));
  }
  if (failed)
    return Error{Error::Kind::kUnavailable,
                 "cannot read '" + folder.string() + "': " + failed.message()};
  std::ranges::sort(state, {}, &FileFacts::path);
  return state;
}

std::vector<std::string> open_for_writing(const fs::path& folder, const FolderState& state) {
  std::vector<std::string> open;
  for (const FileFacts& facts : state) {
    if (facts.kind != FileFacts::Kind::kFile || facts.on_disk) continue;
    const Descriptor file{::open((folder / facts.path).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
    if (!file.is_open()) continue;
    // A process that opens the file while there is a lease waits, so it is given back at once.
    if (::fcntl(file.number(), F_SETLEASE, F_RDLCK) == 0)
      ::fcntl(file.number(), F_SETLEASE, F_UNLCK);
    else if (errno == EAGAIN)
      open.push_back(facts.path);
  }
  return open;
}

Result<std::string> digest_of(const fs::path& file, Pace& pace) {
  return read_through(file, nullptr, pace);
}

Result<std::string> write_file(const fs::path& to, const GivePieces& give, bool lasting) {
  const Descriptor file{
      ::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!file.is_open()) return system_error("write", to);
  auto digest = give([&](std::string_view piece) {
    return write_all(file.number(), piece.data(), piece.size(), to);
  });
  if (digest && lasting && ::fsync(file.number()) != 0) digest = system_error("write", to);
  if (!digest) ::unlink(to.c_str());
  return digest;
}

Result<std::string> copy_file(const fs::path& from, const fs::path& to, Pace& pace, bool lasting) {
  return write_file(
      to, [&](const TakePiece& take) { return read_through(from, take, pace); }, lasting);
}

void remove_fresh(const fs::path& folder) {
  std::error_code failed;
  fs::recursive_directory_iterator next{folder, failed};
  for (; !failed && next != fs::recursive_directory_iterator{}; next.increment(failed))
    if (next->path().string().ends_with(kFreshEnding)) ::unlink(next->path().c_str());
}

Result<std::string> place_copy(const fs::path& from, const fs::path& to, const KeptFile& file,
                               Pace& pace) {
  const fs::path fresh = to.string() + kFreshEnding;
  auto digest = copy_file(from, fresh, pace);
  if (!digest) return digest;
  if (!file.digest.empty() && *digest != file.digest) {
    ::unlink(fresh.c_str());
    return invalid("'" + plain_line(from.string()) + "' has other bytes than were saved");
  }
  give_facts(fresh, file.facts);
  if (::rename(fresh.c_str(), to.c_str()) == 0) return digest;
  Error failed = system_error("write", to);
  ::unlink(fresh.c_str());
  return failed;
}

void give_facts(const fs::path& to, const FileFacts& facts) {
  const timespec time{.tv_sec = static_cast<std::time_t>(facts.modified_ns / 1'000'000'000),
                      .tv_nsec = static_cast<long>(facts.modified_ns % 1'000'000'000)};
  const std::array<timespec, 2> times{time, time};
  ::utimensat(AT_FDCWD, to.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
  if (facts.kind != FileFacts::Kind::kLink) ::chmod(to.c_str(), static_cast<mode_t>(facts.mode));
}

Result<void> make_folder(const fs::path& to) {
  std::error_code failed;
  if (fs::is_directory(fs::symlink_status(to, failed))) return {};
  fs::remove(to, failed);
  fs::create_directory(to, failed);
  if (!failed) return {};
  return Error{Error::Kind::kUnavailable,
               "cannot make '" + plain_line(to.string()) + "': " + failed.message()};
}

Result<void> place_link(const fs::path& target, const fs::path& to) {
  // Several nodes may share a folder, and make the same link there at the same time.
  const std::string unique =
      fmt::format(".{}-{:x}", ::getpid(), Clock::now().time_since_epoch().count());
  const fs::path fresh = to.string() + unique + kFreshEnding;
  if (::symlink(target.c_str(), fresh.c_str()) != 0 || ::rename(fresh.c_str(), to.c_str()) != 0)
    return system_error("make", to);
  return {};
}

}  // namespace ddprun
