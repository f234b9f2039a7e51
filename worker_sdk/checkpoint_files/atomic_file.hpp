// AtomicFile: writes a file that is there completely or not at all, whenever the machine stops.
#pragma once

#include <filesystem>
#include <string>

namespace ddprun::sdk {

/// Writes under a temporary name in the same folder, `.NAME.tmp`, until commit() gives the file its
/// name. Errors of all functions: std::runtime_error, naming the file and the system's reason, such
/// as a full disk.
class AtomicFile {
 public:
  static constexpr char kTemporarySuffix[] = ".tmp";

  /// Creates the temporary file; one that an earlier process has left is written over.
  explicit AtomicFile(const std::filesystem::path& path);
  /// Removes the temporary file if commit() was not reached.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends `size` bytes.
  void write(const void* bytes, std::size_t size);

  /// Syncs the file, renames it and syncs its folder, in this order: when it returns, the file
  /// survives a power failure. A file that had the name before is replaced.
  void commit();

 private:
  [[noreturn]] void fail(const std::string& action) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int fd_ = -1;
};

}  // namespace ddprun::sdk
