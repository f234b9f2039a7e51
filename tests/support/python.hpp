// Asks the PyTorch that LibTorch comes from: DDPRUN_PYTHON, a macro, is its interpreter.
#pragma once

#include <array>
#include <cstdio>
#include <string>

#include "tests/support/catch.hpp"

namespace ddprun {

/// What the Python program prints, which must end well. No single quotes in it.
inline std::string python(const std::string& program) {
  const std::string command = std::string{DDPRUN_PYTHON} + " -c '" + program + "'";
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    output.append(buffer.data(), n);
  REQUIRE(pclose(pipe) == 0);
  return output;
}

}  // namespace ddprun
