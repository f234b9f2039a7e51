#include "worker_sdk/shards/tar_reader.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "worker_sdk/checkpoint_files/shown_text.hpp"

namespace ddprun::sdk {

namespace {

constexpr std::size_t kBlockBytes = 256 * 1024;  // read(2) at a time

/// The bytes of the header where it has them, whatever the locale, and else UTF-8.
std::string name_of(archive_entry* entry) {
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr) name = archive_entry_pathname_utf8(entry);
  return name != nullptr ? name : "";
}

}  // namespace

TarReader::TarReader(std::filesystem::path path)
    : path_{path.string()}, archive_{archive_read_new(), archive_read_free} {
  if (!archive_) throw std::bad_alloc{};
  archive_read_support_filter_gzip(archive_.get());
  archive_read_support_format_tar(archive_.get());
  if (archive_read_open_filename(archive_.get(), path_.c_str(), kBlockBytes) == ARCHIVE_OK) return;
  // Its words for a file that cannot be opened leave out why.
  const int error = archive_errno(archive_.get());
  if (error == ENOENT || error == EACCES || error == EMFILE || error == EISDIR)
    fail(std::strerror(error));
  fail_with_reason();
}

std::optional<std::string> TarReader::next() {
  for (;;) {
    const int status = archive_read_next_header(archive_.get(), &found_);
    if (status == ARCHIVE_EOF) return std::nullopt;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) fail_with_reason();
    entry_ = name_of(found_);
    if (archive_entry_filetype(found_) == AE_IFREG && archive_entry_hardlink(found_) == nullptr)
      return entry_;
  }
}

std::string TarReader::read(std::size_t bytes_max) {
  const auto size = static_cast<std::uint64_t>(archive_entry_size(found_));
  if (size > bytes_max)
    fail("it has " + std::to_string(size) + " bytes, and " + std::to_string(bytes_max) +
         " are allowed");
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto got = archive_read_data(archive_.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0) fail_with_reason();
    if (got == 0) fail("it ends early");
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

void TarReader::fail(const std::string& reason) const {
  throw std::runtime_error{"shard '" + path_ + "'" +
                           (entry_.empty() ? "" : ", entry '" + shown(entry_) + "'") + ": " +
                           reason};
}

void TarReader::fail_with_reason() const {
  const char* reason = archive_error_string(archive_.get());
  const std::string words = reason != nullptr ? reason : "it cannot be read";
  if (entry_.empty()) fail(words);
  fail(words + ", there or behind it");
}

}  // namespace ddprun::sdk
