#include "launcher/error_directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace ddprun {

Result<ErrorDirectory> ErrorDirectory::make(const std::string& temporary) {
  std::string path = temporary + "/ddprun_XXXXXX";
  if (mkdtemp(path.data()) == nullptr)
    return Error{Error::Kind::kUnavailable,
                 "cannot make a directory in '" + temporary +
                     "' (TMPDIR) for the workers' error files: " + std::strerror(errno)};
  return ErrorDirectory{path};
}

ErrorDirectory::ErrorDirectory(ErrorDirectory&& other) noexcept
    : path_{std::exchange(other.path_, {})}, kept_{other.kept_} {}

ErrorDirectory::~ErrorDirectory() {
  std::error_code ignored;  // a file that somebody else removed or protected
  if (!kept_ && !path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace ddprun
