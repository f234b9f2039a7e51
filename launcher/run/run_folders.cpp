#include "launcher/run/run_folders.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "agent/timers/timer_table.hpp"
#include "base/log.hpp"
#include "base/system/own_process.hpp"
#include "base/system/silence_note.hpp"

namespace ddprun {

namespace {

/// The first one that is writable. If there is none, the error is about the first of all.
std::string first_writable(const std::vector<std::string>& folders) {
  const auto writable = std::ranges::find_if(folders, may_write_in);
  return writable != folders.end() ? *writable : folders.front();
}

}  // namespace

std::string private_directory(const EnvironmentLookup& environment) {
  return first_writable(private_folders(environment));
}

Result<RunDirectory> make_run_directory(const LogSpec& logs, const std::string& run_id,
                                        const EnvironmentLookup& environment) {
  const bool wanted = !logs.directory.empty();
  const bool has_logs = wanted || wants_log_files(logs);
  auto directory =
      wanted ? RunDirectory::make(logs.directory, run_id)
             : RunDirectory::make(has_logs ? first_writable(temporary_folders(environment))
                                           : private_directory(environment),
                                  "ddprun");
  if (!directory)
    return Error{directory.error().kind, (wanted ? "--log-dir: " : "for error files (TMPDIR): ") +
                                             directory.error().message};
  if (has_logs) directory->keep();
  if (has_logs && !wanted)
    log::warn("log files are in {} (--log-dir chooses another place)", directory->path().string());
  return directory;
}

void await_folders(const LaunchSpec& spec, const EnvironmentLookup& environment) {
  std::vector<std::string> places;
  if (const auto& etcd = spec.meeting.etcd)
    places = {etcd->ca_file, etcd->cert_file, etcd->key_file};
  if (environment(kFileTimerVariable) == "1")
    places.push_back(environment(kTimerFileVariable).value_or(""));
  for (const std::string& place : places)
    if (const SilenceNote note{place}; !place.empty()) [[maybe_unused]]
      const bool there = access(place.c_str(), F_OK) == 0;
}

}  // namespace ddprun
