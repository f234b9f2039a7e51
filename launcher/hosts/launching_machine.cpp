#include "launcher/hosts/launching_machine.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/system/own_process.hpp"
#include "launcher/settings/secret_file.hpp"

namespace ddprun {

namespace {

namespace fs = std::filesystem;

Result<std::string> read_hostfile(const std::string& path) {
  std::ifstream file{path};
  std::ostringstream text;
  if (file && !fs::is_directory(path) && text << file.rdbuf()) return text.str();
  if (file && fs::is_empty(path)) return std::string{};
  return Error{errno == ENOENT ? Error::Kind::kNotFound : Error::Kind::kDenied,
               "--hostfile: cannot read '" + path +
                   "': " + (fs::is_directory(path) ? "it is a directory" : std::strerror(errno))};
}

/// PWD rather than the path without links, because a home may be mounted elsewhere on the hosts and
/// be reached by the same link everywhere.
std::string working_directory(const EnvironmentLookup& environment) {
  std::error_code error;
  const std::string shown = environment("PWD").value_or("");
  if (shown.starts_with('/') && fs::equivalent(shown, ".", error)) return shown;
  return fs::current_path(error).string();
}

}  // namespace

LaunchingMachine launching_machine(const EnvironmentLookup& environment) {
  return {environment, own_path(), working_directory(environment), read_hostfile, read_secret_file};
}

}  // namespace ddprun
