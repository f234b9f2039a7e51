// AtomicFile: writes a file that is there completely or not at all, whenever the machine stops.
#pragma once

#include <filesystem>
#include <string>

namespace ddprun::sdk {

/// Writes under a temporary name in the same folder, `.NAME.RANDOM.tmp`, until commit() gives the
/// file its name. That name cannot be foreseen, and nothing that is there already is opened, so in
/// a folder that others may write to no link leads the bytes elsewhere. Errors of all functions:
/// std::runtime_error, naming the file and the system's reason, such as a full disk.
class AtomicFile {
 public:
  static constexpr char kTemporarySuffix[] = ".tmp";

  /// Creates the temporary file, and holds its lock (flock(2)). Temporary files of the same name
  /// without a lock were left by a process that was killed: these are removed.
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
  void create_temporary();
  [[noreturn]] void fail(const std::string& action) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int fd_ = -1;
};

}  // namespace ddprun::sdk
