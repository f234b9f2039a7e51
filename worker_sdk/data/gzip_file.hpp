// A file that may be gzipped or not, read with zlib (https://www.zlib.net/manual.html).
#pragma once

#include <zlib.h>

#include <filesystem>
#include <memory>
#include <string>

namespace ddprun::sdk {

/// Errors of all of it: std::runtime_error, naming the file.
class GzipFile {
 public:
  explicit GzipFile(const std::filesystem::path& path);

  /// Up to `bytes` bytes, fewer only at the end.
  std::size_t read(void* to, std::size_t bytes);

  /// A line with its newline, cut where it has size - 1 characters; false at the end.
  bool read_line(char* to, int size);

 private:
  void check() const;

  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

}  // namespace ddprun::sdk
