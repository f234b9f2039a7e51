// AtomicFile: a file that is there completely or not at all, whenever the machine stops.
#pragma once

#include <filesystem>
#include <string>

namespace ddprun::sdk {

/// Written under a temporary name in the same folder, `.NAME.tmp`; commit() gives it its name.
/// Errors: std::runtime_error, naming the file and the system's reason (a full disk, for one).
class AtomicFile {
 public:
  static constexpr char kTemporarySuffix[] = ".tmp";

  explicit AtomicFile(const std::filesystem::path& path);
  /// Removes the temporary file if commit() was not reached.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, std::size_t size);

  /// fsync, rename, fsync of the folder: after it returns, the file survives a power failure.
  void commit();

 private:
  [[noreturn]] void fail(const std::string& action) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int fd_ = -1;
};

}  // namespace ddprun::sdk
