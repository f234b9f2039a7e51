// TarReader: the files in a tar file, one after the other, with libarchive
// (https://github.com/libarchive/libarchive/wiki/ManPageArchiveRead3).
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

struct archive;
struct archive_entry;

namespace ddprun::sdk {

/// Reads a tar file, plain or gzipped, from its beginning to its end. Errors of all functions:
/// std::runtime_error, naming the shard and the entry.
class TarReader {
 public:
  explicit TarReader(std::filesystem::path path);

  /// Goes to the next regular file and returns its name; nullopt at the end. Folders and links are
  /// passed over.
  std::optional<std::string> next();

  /// Reads the file that next() has found: at most `bytes_max` bytes.
  std::string read(std::size_t bytes_max);

  /// Throws what the caller has against the entry.
  [[noreturn]] void fail(const std::string& reason) const;

 private:
  [[noreturn]] void fail_with_reason() const;

  std::string path_;
  std::string entry_;
  ::archive_entry* found_ = nullptr;
  std::unique_ptr<::archive, int (*)(::archive*)> archive_;
};

}  // namespace ddprun::sdk
