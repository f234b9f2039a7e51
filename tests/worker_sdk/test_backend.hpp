// Which backend tests use.
#pragma once

#include <cstdlib>
#include <string>

namespace ddprun::sdk {

/// Gloo, or what scripts/gpu-check sets: the same cases run over NCCL where there are GPUs.
inline std::string test_backend() {
  const char* backend = std::getenv("DDPRUN_TEST_BACKEND");
  return backend ? backend : "gloo";
}

}  // namespace ddprun::sdk
