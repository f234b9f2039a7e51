#include "worker_sdk/group/gpu_groups.hpp"

#include <cstdlib>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "tests/support/catch.hpp"

namespace ddprun::sdk {
namespace {

/// It does nothing, and counts how often it was aborted.
class CountingBackend : public c10d::Backend {
 public:
  CountingBackend() : Backend{0, 1} {}
  const std::string getBackendName() const override { return "counting"; }
  void abort() override { ++aborted; }
  int aborted = 0;
};

TEST_CASE("every group that waits on a GPU is aborted as long as it is there") {
  const auto backend = c10::make_intrusive<CountingBackend>();
  c10d::ProcessGroup group{c10::make_intrusive<c10d::HashStore>(), 0, 1};
  group.setBackend(torch::kCPU, c10d::ProcessGroup::CUSTOM, backend);
  std::optional<GpuGroup> known{std::in_place, group};
  abort_gpu_groups();
  CHECK(backend->aborted == 1);
  known.reset();
  abort_gpu_groups();
  CHECK(backend->aborted == 1);
}

TEST_CASE("switches that reduce are left out unless the user asks for them") {
  setenv("NCCL_NVLS_ENABLE", "1", 1);
  keep_process_without_members();
  CHECK(std::string{std::getenv("NCCL_NVLS_ENABLE")} == "1");
  unsetenv("NCCL_NVLS_ENABLE");
  keep_process_without_members();
  CHECK(std::string{std::getenv("NCCL_NVLS_ENABLE")} == "0");
  CHECK(std::string{std::getenv("TORCH_NCCL_ASYNC_ERROR_HANDLING")} == "0");
}

}  // namespace
}  // namespace ddprun::sdk
