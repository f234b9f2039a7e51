#include "launcher/commands/secret_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/log.hpp"
#include "base/system/silence_note.hpp"
#include "launcher/settings/secret_file.hpp"

namespace ddprun {

namespace {

bool same(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/// Whether nothing has happened to a file between two looks at it.
bool same(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_size == b.st_size && same(a.st_mtim, b.st_mtim) &&
         same(a.st_ctim, b.st_ctim);
}

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

}  // namespace

Result<SecretFolder> SecretFolder::open(const std::string& path) {
  const SilenceNote note{path};
  Descriptor directory{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  struct stat state {};
  if (!directory.is_open() || fstat(directory.number(), &state) != 0)
    return invalid("--secret-dir '" + path + "' cannot be opened: " + std::strerror(errno));
  SecretFolder folder{path, std::move(directory)};
  if ((state.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return invalid("--secret-dir '" + path + "' may be written to by others: chmod go-w");
  folder.look(Clock::now());
  return folder;
}

std::optional<JobKey> SecretFolder::find(std::string_view identity, TimePoint now) {
  auto found = by_identity_.find(identity);
  if (found == by_identity_.end() && (has_changed() || now - looked_ >= kLookAgain)) {
    look(now);
    found = by_identity_.find(identity);
  }
  if (found == by_identity_.end()) return std::nullopt;
  const File& file = files_.at(found->second);
  struct stat state {};
  const bool there =
      fstatat(directory_.number(), found->second.c_str(), &state, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && same(state, file.state)) return file.key;
  look(now);  // it has been taken away, or changed: the key counts no more
  found = by_identity_.find(identity);
  return found == by_identity_.end() ? std::nullopt : files_.at(found->second).key;
}

bool SecretFolder::has_changed() const {
  struct stat state {};
  return fstat(directory_.number(), &state) == 0 && !same(state, seen_);
}

void SecretFolder::look(TimePoint now) {
  looked_ = now;
  fstat(directory_.number(), &seen_);
  const int again = openat(directory_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseDirectory> listing{again < 0 ? nullptr : fdopendir(again)};
  if (!listing) return log::warn("--secret-dir: cannot list '{}'", path_);
  std::map<std::string, File> files;
  by_identity_.clear();
  while (const dirent* entry = readdir(listing.get())) {
    const std::string name = entry->d_name;
    struct stat state {};
    if (name.starts_with('.') || files.size() == kSecretFilesMax ||
        fstatat(directory_.number(), name.c_str(), &state, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    const auto known = files_.find(name);
    const bool unchanged = known != files_.end() && same(known->second.state, state);
    File file = unchanged ? std::move(known->second) : read(name, state);
    if (file.key) by_identity_[file.key->identity] = name;
    files.emplace(name, std::move(file));
  }
  files_ = std::move(files);
}

SecretFolder::File SecretFolder::read(const std::string& name, const struct stat& state) const {
  const auto secret = read_secret_at(directory_.number(), name, path_ + "/" + name);
  if (!secret) log::warn("--secret-dir: {}", secret.error().message);
  return {state, secret ? std::optional{job_key(*secret, name)} : std::nullopt};
}

}  // namespace ddprun
