// The one include for Catch2, whose header and matchers are named differently in v2 (Debian 12) and
// v3.
#pragma once

#include <string>

// Catch2 prints durations, times and optionals only where these are defined before its header.
#define CATCH_CONFIG_ENABLE_CHRONO_STRINGMAKER
#define CATCH_CONFIG_ENABLE_OPTIONAL_STRINGMAKER
// Each CHECK catches no exception of its own, which takes a fifth off what tests take to compile.
// An exception ends its test, and is reported with the last CHECK before it.
#define CATCH_CONFIG_FAST_COMPILE

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

namespace ddprun {

#if __has_include(<catch2/catch_all.hpp>)
using Catch::Approx;  // v2 has it outside of its namespace
#endif

/// CHECK_THAT(text, contains("part")).
inline auto contains(const std::string& part) {
#if __has_include(<catch2/catch_all.hpp>)
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Matchers::Contains(part);
#endif
}

}  // namespace ddprun
