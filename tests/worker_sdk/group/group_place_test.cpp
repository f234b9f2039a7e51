// Which device and backends a worker takes: chosen from what it sees, compared with what others
// took.
#include "worker_sdk/group/group_place.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "ddprun/process_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"
#include "worker_sdk/group/collective_checks.hpp"
#include "worker_sdk/group/gpu_files.hpp"
#include "worker_sdk/group/group_store.hpp"

namespace ddprun::sdk {
namespace {

const VisibleGpus kNone{};
const VisibleGpus kFour{.count = 4};

torch::Device gpu(int index) { return {torch::kCUDA, static_cast<torch::DeviceIndex>(index)}; }

std::string refusal(const std::string& backend, std::optional<torch::Device> device, int local_rank,
                    const VisibleGpus& gpus) {
  try {
    choose_devices(backend, device, local_rank, gpus);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "it was taken";
}

TEST_CASE("where nobody says how long operations may take, it is what PyTorch says") {
  CHECK(default_timeout({.device = gpu(0)}) == std::chrono::minutes{10});
  CHECK(default_timeout({.device = gpu(0), .cpu_too = true}) == std::chrono::minutes{10});
  CHECK(default_timeout({}) == std::chrono::minutes{30});
}

TEST_CASE(
    "without a wish, a worker takes its GPU where there are some, and "
    "the CPU else") {
  CHECK(choose_devices("", {}, 2, kFour).device == gpu(2));
  CHECK(choose_devices("", {}, 2, kFour).cpu_too);
  CHECK(choose_devices("", {}, 2, kNone).device == torch::kCPU);
}

TEST_CASE("a backend is what it is called") {
  CHECK(choose_devices("gloo", {}, 2, kFour).device == torch::kCPU);
  CHECK(choose_devices("nccl", {}, 2, kFour).device == gpu(2));
  CHECK_FALSE(choose_devices("nccl", {}, 2, kFour).cpu_too);
  for (const char* both : {"cpu:gloo,cuda:nccl", "cuda:nccl,cpu:gloo"}) {
    CHECK(choose_devices(both, {}, 1, kFour).device == gpu(1));
    CHECK(choose_devices(both, {}, 1, kFour).cpu_too);
  }
  CHECK_THAT(refusal("mpi", {}, 0, kFour), contains("has no ProcessGroupMPI"));
  CHECK_THAT(refusal("nickel", {}, 0, kFour), contains("backend 'nickel': expected nccl, gloo"));
}

TEST_CASE("a device that is given is taken, whatever the local rank") {
  CHECK(choose_devices("", gpu(1), 3, kFour).device == gpu(1));
  CHECK(choose_devices("nccl", torch::Device{torch::kCUDA}, 3, kFour).device == gpu(3));
  CHECK(choose_devices("", torch::Device{torch::kCPU}, 3, kFour).device == torch::kCPU);
  CHECK_THAT(refusal("nccl", gpu(4), 0, kFour), contains("device cuda:4: this process sees 4"));
  CHECK_THAT(refusal("gloo", gpu(0), 0, kFour), contains("needs the backend nccl"));
  CHECK_THAT(refusal("nccl", torch::Device{torch::kCPU}, 0, kFour), contains("expected a GPU"));
}

TEST_CASE("where each worker is shown a GPU of its own, that is the one") {
  CHECK(choose_devices("", {}, 3, {.count = 1, .chosen = "0"}).device == gpu(0));
  CHECK(choose_devices("nccl", {}, 3, {.count = 1, .chosen = "GPU-8932f937"}).device == gpu(0));
  CHECK_THAT(refusal("nccl", {}, 3, {.count = 1}), contains("local rank 3 sees 1"));
  CHECK_THAT(refusal("nccl", {}, 3, {.count = 1, .chosen = "0,7"}), contains("sees 1"));
}

TEST_CASE(
    "a driver without a usable GPU is worth a warning where nobody has "
    "chosen") {
  CHECK_THAT(missing_gpu_warning("", {.has_driver = true}), contains("nvidia-smi"));
  CHECK(missing_gpu_warning("gloo", {.has_driver = true}).empty());
  CHECK(missing_gpu_warning("", {.chosen = "", .has_driver = true}).empty());
  CHECK(missing_gpu_warning("", {.count = 1, .has_driver = true}).empty());
  CHECK(missing_gpu_warning("", {}).empty());
}

TEST_CASE("a group of GPUs carries tensors on the CPU where it was made for both") {
  const Operation call{"all_reduce", "default", 0, 1};
  const torch::Tensor on_cpu = torch::ones({2});
  CHECK_NOTHROW(CollectiveChecks(call, {gpu(0), true}).tensor(on_cpu, "the tensor"));
  CHECK_THROWS_WITH(CollectiveChecks(call, {gpu(0), false}).tensor(on_cpu, "the tensor"),
                    contains("is on cpu, this group's tensors are on cuda:0; call"));
  CHECK_FALSE(TensorDevices{gpu(0), true}.by_nccl(on_cpu));
}

TEST_CASE("what NCCL cannot send is known before it is asked") {
  for (const auto dtype : {torch::kFloat32, torch::kBFloat16, torch::kInt64, torch::kUInt8,
                           torch::kBool, torch::kFloat8_e4m3fn})
    CHECK(nccl_has(dtype));
  for (const auto dtype : {torch::kInt16, torch::kUInt16, torch::kComplexFloat})
    CHECK_FALSE(nccl_has(dtype));
}

TEST_CASE("ranks with another backend than most are named") {
  CHECK(describe_backends({{"gloo", {0, 1, 2}}}).empty());
  CHECK_THAT(describe_backends({{"gloo", {2, 3}}, {"nccl", {0, 1, 4}}}),
             contains("ranks 2 and 3 have chosen gloo, the others nccl"));
  CHECK_THAT(describe_backends({{"gloo", {0, 1}}, {"nccl", {2}}}),
             contains("rank 2 has chosen nccl, the others gloo"));
}

TEST_CASE("a worker does not wait for one that has chosen another backend") {
  const ScratchFolder folder;
  const std::string path = folder / "store";
  const auto file = c10::make_intrusive<c10d::FileStore>(path, 2);
  const auto meeting = with_prefix("0", c10::make_intrusive<c10d::PrefixStore>("default_pg", file));
  announce(*meeting, "joined", {.rank = 1, .size = 2, .brings = "nccl"});
  CHECK_THROWS_WITH(init_process_group({.backend = "gloo",
                                        .init_method = "file://" + path + "?rank=0&world_size=2"}),
                    contains("init_process_group on group \"default\" (rank 0 of 2): rank 1 has "
                             "chosen nccl, the others gloo"));
}

TEST_CASE("GPUs are counted by their device files and CUDA_VISIBLE_DEVICES") {
  const ScratchFolder folder;
  for (const char* name : {"nvidia0", "nvidia1", "nvidia2", "nvidiactl", "nvidia-uvm", "null"})
    std::ofstream{folder / name};
  CHECK(count_gpus(folder.path(), {}) == 3);
  CHECK(count_gpus(folder.path(), "") == 0);
  CHECK(count_gpus(folder.path(), "2,0") == 2);
  CHECK(count_gpus(folder.path(), "0,-1,1") == 1);
  CHECK(count_gpus(folder.path(), "0,7,1") == 1);
  CHECK(count_gpus(folder.path(), "GPU-8932f937,GPU-12") == 2);
  CHECK(count_gpus(folder.path(), "1,1") == 0);
  CHECK(count_gpus(folder / "nothing", {}) == 0);
  CHECK(count_gpus(folder / "nothing", "0") == 0);
}

TEST_CASE("a process that has initialised CUDA is known by the driver's file") {
  const ScratchFolder folder;
  std::filesystem::create_symlink("/dev/null", folder / "0");
  CHECK_FALSE(has_initialised_cuda(folder.path()));
  std::filesystem::create_symlink("/dev/nvidiactl", folder / "1");
  CHECK(has_initialised_cuda(folder.path()));
  CHECK_FALSE(has_initialised_cuda(folder / "nothing"));
}

}  // namespace
}  // namespace ddprun::sdk
