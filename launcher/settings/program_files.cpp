#include "launcher/settings/program_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "base/descriptor.hpp"
#include "base/system/silence_note.hpp"

namespace ddprun {

namespace {

constexpr char kDefaultPath[] = "/usr/local/bin:/usr/bin:/bin";

bool is_executable_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

Result<std::string> check_path(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0)
    return Error{Error::Kind::kNotFound, "there is no file '" + path + "'"};
  if (S_ISDIR(status.st_mode))
    return Error{Error::Kind::kDenied, "'" + path + "' is a directory, expected a program"};
  if (access(path.c_str(), X_OK) != 0)
    return Error{Error::Kind::kDenied,
                 "'" + path + "' is not executable: chmod +x it, or name its interpreter"};
  return path;
}

}  // namespace

Result<std::string> find_program(const std::string& name, const EnvironmentLookup& environment) {
  const bool is_path = name.find('/') != std::string::npos;
  const SilenceNote note{is_path ? name : "the folders of PATH"};
  if (is_path) return check_path(name);
  std::istringstream path{environment("PATH").value_or(kDefaultPath)};
  for (std::string directory; std::getline(path, directory, ':');) {
    const std::string candidate = (directory.empty() ? "." : directory) + "/" + name;
    if (is_executable_file(candidate)) return candidate;
  }
  std::string message = "there is no program '" + name + "' in PATH";
  const std::string here = "./" + name;
  if (is_executable_file(here))
    message += "; did you mean '" + here + "'?";
  else if (name.ends_with(".py") && access(here.c_str(), F_OK) == 0)
    message += "; without --no-python, Python runs '" + here + "'";
  return Error{Error::Kind::kNotFound, std::move(message)};
}

namespace {

constexpr off_t kHeadBytes = 4096;
constexpr off_t kTailBytes = 22 + 65'535;  // a zip's last record, and its comment

std::string bytes_at(int file, off_t offset, off_t size) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  const ssize_t count = pread(file, bytes.data(), bytes.size(), offset);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return bytes;
}

}  // namespace

FileEnds file_ends(const std::string& path) {
  const SilenceNote note{path};
  // O_NONBLOCK: a named pipe would be waited for, and another process may be about to write to it.
  struct stat what {};
  if (stat(path.c_str(), &what) != 0 || !S_ISREG(what.st_mode)) return {};
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file.is_open() || fstat(file.number(), &what) != 0 || !S_ISREG(what.st_mode)) return {};
  const off_t tail = std::min(what.st_size, kTailBytes);
  return {bytes_at(file.number(), 0, std::min(what.st_size, kHeadBytes)),
          bytes_at(file.number(), what.st_size - tail, tail)};
}

}  // namespace ddprun
