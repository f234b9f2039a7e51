// What reading a scheduler's variables takes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/environment.hpp"
#include "base/result.hpp"

namespace ddprun {

/// Returns the text of a variable, "" where it is not set.
std::string text(const EnvironmentLookup& environment, const char* name);

/// Returns nullopt where it is not set, or is no number from 0 up.
std::optional<std::int64_t> number(const EnvironmentLookup& environment, const char* name);

/// Returns a number that texts rarely have in common: FNV-1a
/// (http://www.isthe.com/chongo/tech/comp/fnv).
std::uint64_t hash(const std::string& words);

/// Returns the coordinator's port in a job of that number, the same on all nodes.
std::uint16_t port_of(std::uint64_t job);

/// Says that `by` has started `count` ddprun on a node, and what to do about it.
Error too_many_here(const std::string& by, std::int64_t count, const std::string& advice);

}  // namespace ddprun
