// GzipFile: reads a file that may be gzipped or not, with zlib (https://www.zlib.net/manual.html).
#pragma once

#include <zlib.h>

#include <filesystem>
#include <memory>
#include <string>

namespace ddprun::sdk {

/// Reads from the beginning to the end. Errors of all functions: std::runtime_error, naming the
/// file.
class GzipFile {
 public:
  /// Opens the file.
  explicit GzipFile(const std::filesystem::path& path);

  /// Reads `bytes` bytes and returns how many there were, which are fewer only at the end.
  std::size_t read(void* to, std::size_t bytes);

  /// Reads a line with its newline, or its first size - 1 characters, as a C string. Returns false
  /// at the end of the file.
  bool read_line(char* to, int size);

 private:
  void check() const;

  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

}  // namespace ddprun::sdk
