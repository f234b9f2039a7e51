// LogRotation: decides where the bytes of a log are cut into files. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace ddprun {

/// How large the files of a log may get, and how many of them are kept.
struct RotationRule {
  std::uint64_t bytes_max = 0;  // bytes of one file; 0: one file of any size
  int files_max = 0;            // with the one that is written to
  bool operator==(const RotationRule&) const = default;
};

/// A file ends with the last line that fits. A line that has begun in a file is ended there, if it
/// ends within kLineBytesMax beyond the limit; a longer one is cut.
class LogRotation {
 public:
  static constexpr std::uint64_t kLineBytesMax = 64 * 1024;

  /// `size`: of what the first file has already.
  LogRotation(RotationRule rule, std::uint64_t size) : rule_{rule}, size_{size} {}

  /// How many of `bytes` go to the present file. If these are not all, the next file has to be
  /// begun for the rest.
  std::size_t fits(std::string_view bytes) const;

  /// That many bytes were written to the present file; `last` is the last of them.
  void written(std::size_t bytes, char last);

  /// The next file is the present one, and empty.
  void begin_next();

 private:
  RotationRule rule_;
  std::uint64_t size_;
  bool in_line_ = false;  // the last byte that was written ends no line
};

}  // namespace ddprun
