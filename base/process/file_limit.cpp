#include "base/process/file_limit.hpp"

#include <optional>
#include <string>

namespace ddprun {

namespace {

constexpr rlim_t kOwnFiles = 32;  // files of the agent, the coordinator and starting threads

std::optional<rlimit>& original() {
  static std::optional<rlimit> limit;
  return limit;
}

}  // namespace

Result<void> raise_file_limit(const std::string& whose, std::size_t files) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  if (limit.rlim_cur != limit.rlim_max && setrlimit(RLIMIT_NOFILE, &raised) == 0)
    original() = limit;
  const rlim_t needed = static_cast<rlim_t>(files) + kOwnFiles;
  if (limit.rlim_max >= needed) return {};
  return Error{Error::Kind::kUnavailable, whose + " need about " + std::to_string(needed) +
                                              " open files, and the system allows " +
                                              std::to_string(limit.rlim_max) + " (ulimit -Hn)"};
}

std::size_t file_limit() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

const rlimit* original_file_limit() { return original() ? &*original() : nullptr; }

}  // namespace ddprun
