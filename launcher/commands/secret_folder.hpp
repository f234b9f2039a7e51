// SecretFolder: the secrets of the jobs of `ddprun server`, a file for each, named by the run id.
//
// Files may come and go while the server runs. What they hold is read again only where the folder
// or a file has changed.
#pragma once

#include <sys/stat.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "rendezvous/transport/secret.hpp"

namespace ddprun {

/// At most this many files are looked at.
inline constexpr std::size_t kSecretFilesMax = 10'000;

class SecretFolder {
 public:
  /// Opens the folder and reads what is in it. Files that are no secrets are logged, once for each
  /// state of theirs. Errors: kInvalid, when there is no folder, or others may write to it.
  static Result<SecretFolder> open(const std::string& path);

  /// Finds the key of that name. When there is none, it looks whether the folder has changed, and
  /// at most once in kLookAgain whether a file has.
  std::optional<JobKey> find(std::string_view identity, TimePoint now);

  /// How many jobs have a secret.
  std::size_t size() const { return by_identity_.size(); }

  static constexpr std::chrono::seconds kLookAgain{1};

 private:
  struct File {
    struct stat state {};
    std::optional<JobKey> key;  // nullopt: it holds no secret
  };

  SecretFolder(std::string path, Descriptor directory)
      : path_{std::move(path)}, directory_{std::move(directory)} {}
  bool has_changed() const;
  void look(TimePoint now);
  File read(const std::string& name, const struct stat& state) const;

  std::string path_;
  Descriptor directory_;
  struct stat seen_ {};  // the folder, when it was looked at
  TimePoint looked_{};
  std::map<std::string, File> files_;                            // by name
  std::map<std::string, std::string, std::less<>> by_identity_;  // the names
};

}  // namespace ddprun
