#include "agent/file_limit.hpp"

#include <optional>

namespace ddprun {

namespace {

std::optional<rlimit>& original() {
  static std::optional<rlimit> limit;
  return limit;
}

}  // namespace

void raise_file_limit() {
  rlimit limit{};
  if (original() || getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
    return;
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &raised) == 0) original() = limit;
}

const rlimit* original_file_limit() { return original() ? &*original() : nullptr; }

}  // namespace ddprun
