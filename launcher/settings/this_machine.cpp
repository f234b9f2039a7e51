#include "launcher/settings/this_machine.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "base/descriptor.hpp"
#include "base/machine/machine_topology.hpp"
#include "base/machine/sysfs_files.hpp"
#include "base/process/query_process.hpp"
#include "base/system/own_process.hpp"
#include "base/system/silence_note.hpp"
#include "base/system/whole_file.hpp"
#include "launcher/settings/gpus.hpp"
#include "launcher/settings/program_files.hpp"
#include "launcher/settings/secret_file.hpp"

namespace ddprun {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kListBytesMax = 64 * 1024 * 1024;  // a list of hosts is far shorter

Result<std::string> text_of_file(const std::string& path) {
  const SilenceNote note{path};
  auto text = read_text(path, kListBytesMax, ReadFrom::kPipesToo);
  if (text) return text;
  return Error{text.error().kind, "cannot read '" + path + "': " + text.error().message};
}

/// PWD rather than the path without links, because a home may be mounted elsewhere on the hosts and
/// be reached by the same link everywhere.
std::string working_directory(const EnvironmentLookup& environment) {
  std::error_code error;
  std::string shown = environment("PWD").value_or("");
  if (shown.starts_with('/') && fs::equivalent(shown, ".", error)) return shown;
  return fs::current_path(error).string();
}

bool has_terminal() {
  return Descriptor{open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY)}.is_open();
}

}  // namespace

LocalSystem this_machine(const EnvironmentLookup& environment) {
  return {environment,
          [] { return usable_cpus(); },
          [] { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); },
          [environment] { return visible_gpus(environment); },
          [](const std::string& path) {
            const SilenceNote note{path};
            std::error_code unreadable;  // the code that opens the file reports this
            return fs::exists(path, unreadable);
          },
          file_ends,
          names_in,
          [environment](const std::string& name) { return find_program(name, environment); },
          read_secret_file,
          host_name,
          text_of_file,
          [](const std::vector<std::string>& words) { return output_of(words); },
          own_path,
          [] { return has_terminal() ? getpgrp() : 0; },
          [environment] { return working_directory(environment); }};
}

}  // namespace ddprun
