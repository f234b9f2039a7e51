// Reads which hosts a job runs on, from --hosts and the hostfile. Pure.
//
// Hostfiles are read in the forms of MPI and DeepSpeed ("h1 slots=4") and of Horovod ("h1:4,h2:4").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "launcher/settings/arguments.hpp"

namespace ddprun {

/// A list of more hosts is refused.
inline constexpr std::size_t kHostsMax = 10'000;

/// A machine that the job runs on.
struct Host {
  std::string name;          // as ssh takes it: "h1", "user@h1", "fd77::1"
  std::optional<int> slots;  // how many workers; nullopt: --nproc-per-node says it
  /// The name without the user, as messages and output call it.
  std::string label() const;
  bool operator==(const Host&) const = default;
};

/// Reads "h1,h2:8,user@[fd77::1]:2". Errors: kInvalid, also for a host that is named twice.
Result<std::vector<Host>> parse_hosts(const Setting& setting);

/// Reads the text of a hostfile; '#' begins a comment. `path` is its name for messages. Errors:
/// kInvalid, with the number of the line.
Result<std::vector<Host>> parse_hostfile(std::string_view text, const std::string& path);

}  // namespace ddprun
