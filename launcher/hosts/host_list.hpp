// Which hosts a job runs on: --hosts and the hostfile. Pure.
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

inline constexpr std::size_t kHostsMax = 10'000;

struct Host {
  std::string name;          // as ssh takes it: "h1", "user@h1", "fd77::1"
  std::optional<int> slots;  // workers there; nullopt: as --nproc-per-node says
  /// The name without the user: what messages and output call it.
  std::string label() const;
  bool operator==(const Host&) const = default;
};

/// "h1,h2:8,user@[fd77::1]:2". Errors: kInvalid; a host that is named twice is one.
Result<std::vector<Host>> parse_hosts(const Setting& setting);

/// The text of the file `path`; '#' begins a comment. Errors: kInvalid, with the number of the
/// line.
Result<std::vector<Host>> parse_hostfile(std::string_view text, const std::string& path);

}  // namespace ddprun
