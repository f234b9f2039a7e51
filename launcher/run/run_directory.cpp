#include "launcher/run/run_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/system/silence_note.hpp"

namespace ddprun {

Result<RunDirectory> RunDirectory::make(const std::filesystem::path& base, std::string name) {
  const SilenceNote note{base.string()};
  std::error_code error;
  std::filesystem::create_directories(base, error);
  std::error_code unreadable;
  if (!std::filesystem::is_directory(base, unreadable))
    return Error{Error::Kind::kInvalid, "cannot make the directory '" + base.string() + "': " +
                                            (error        ? error.message()
                                             : unreadable ? unreadable.message()
                                                          : "there is a file of that name")};
  std::ranges::replace(name, '/', '_');  // a job's name may hold slashes
  std::string path = std::filesystem::absolute(base / (name + "_XXXXXX")).string();
  if (mkdtemp(path.data()) == nullptr)
    return Error{Error::Kind::kUnavailable,
                 "cannot make a directory in '" + base.string() + "': " + std::strerror(errno)};
  return RunDirectory{path};
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_{std::exchange(other.path_, {})}, kept_{other.kept_} {}

RunDirectory::~RunDirectory() {
  std::error_code ignored;  // somebody else may have removed or protected a file
  if (!kept_ && !path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace ddprun
