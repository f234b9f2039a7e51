#include "base/system/own_process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/system/file_system.hpp"

namespace ddprun {

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

std::optional<std::string> own_variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value ? std::optional<std::string>{value} : std::nullopt;
}

std::optional<std::string> take_variable(const std::string& name) {
  std::optional<std::string> value;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view{*entry}.starts_with(name + "=")) continue;
    char* const text = *entry + name.size() + 1;
    if (!value) value = text;  // like getenv(), it takes the first of several
    std::memset(text, 0, std::strlen(text));
  }
  unsetenv(name.c_str());
  return value;
}

std::string own_path() {
  std::error_code not_mounted;
  return std::filesystem::read_symlink("/proc/self/exe", not_mounted).string();
}

void open_standard_files() {
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file)
    if (fcntl(file, F_GETFD) < 0) open("/dev/null", O_RDWR);  // the lowest number that is free
}

Result<void> may_start_threads() try {
  std::thread{[] {}}.join();
  return {};
} catch (const std::system_error& refused) {
  return Error{Error::Kind::kUnavailable,
               "the system starts no thread for ddprun: " + refused.code().message() +
                   "; expected are more processes of this user (ulimit -u) or more memory (ulimit "
                   "-v), or in "
                   "a container a seccomp filter that allows clone3 or answers ENOSYS to it"};
}

std::vector<std::string> temporary_folders(const EnvironmentLookup& environment) {
  std::vector<std::string> folders{environment("TMPDIR").value_or(""), "/tmp", "/var/tmp"};
  std::erase(folders, "");
  return folders;
}

bool may_write_in(const std::string& folder) { return access(folder.c_str(), W_OK | X_OK) == 0; }

std::vector<std::string> private_folders(const EnvironmentLookup& environment) {
  std::vector<std::string> folders = temporary_folders(environment);
  if (!environment("TMPDIR")) return folders;
  std::vector<std::string> local = folders;
  std::erase_if(local, [mounts = mount_table()](const std::string& folder) {
    return is_served(folder, mounts);
  });
  return std::ranges::any_of(local, may_write_in) ? local : folders;
}

std::string host_name() {
  std::string name(256, '\0');
  gethostname(name.data(), name.size() - 1);
  name.resize(name.find('\0'));
  return name;
}

}  // namespace ddprun
