#include "rendezvous/verdict/hints.hpp"

#include <csignal>
#include <utility>
#include <vector>

#include "rendezvous/verdict/consequences.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("known causes get a hint") {
  // What a worker says, and a part of the hint.
  const std::vector<std::pair<const char*, const char*>> known{
      {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "smaller batch"},
      {"RuntimeError: [enforce fail at alloc_cpu.cpp:118] . DefaultCPUAllocator: can't allocate "
       "memory: you tried to allocate 4000000000 bytes",
       "host's memory"},
      {"MemoryError", "host's memory"},
      {"OSError: [Errno 28] No space left on device: '/scratch/ckpt'", "df -h"},
      {"OSError: [Errno 98] Address already in use", "another process has that port"},
      {"ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!", "gloo"},
      {"ModuleNotFoundError: No module named 'ddprun'", "worker_sdk/python"},
      {"RuntimeError: The server socket has failed to listen on any local network address. port: "
       "29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
       "another process has that port"},
      {"OSError: [Errno 24] Too many open files: '/data/1'", "ulimit -n"},
      {"KeyError: 'getpwuid(): uid not found: 1000'", "set USER"},
      {"RuntimeError: received 0 items of ancdata", "ulimit -n"},
      {"RuntimeError: DataLoader worker (pid 12) is killed by signal: Bus error. It is possible "
       "that "
       "dataloader's workers are out of shared memory.",
       "/dev/shm"},
      {"RuntimeError: unable to open shared memory object </torch_1> in read-write mode",
       "/dev/shm"},
      {"RuntimeError: DataLoader worker (pid(s) 5, 6) exited unexpectedly", "num_workers=0"},
      {"RuntimeError: DataLoader worker (pid 5) is killed by signal: Killed.",
       "for want of memory"},
      {"torch.distributed.DistBackendError: NCCL error: internal error. Bootstrap : no socket "
       "interface found",
       "NCCL_SOCKET_IFNAME"},
      {"RuntimeError: [enforce fail at device.cc:83] Unable to find interface for: [eth9]",
       "GLOO_SOCKET_IFNAME"},
      {"ncclInvalidUsage: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000",
       "same GPU"},
      {"RuntimeError: CUDA error: invalid device ordinal", "fewer GPUs than workers"},
      {"RuntimeError: No CUDA GPUs are available", "nvidia-smi"},
      {"RuntimeError: The NVIDIA driver on your system is too old (found version 11040)",
       "newer driver"},
      {"RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime version",
       "newer driver"},
      {"RuntimeError: CUDA error: no kernel image is available for execution on the device",
       "not built for that GPU"},
      {"RuntimeError: CUDA error: device-side assert triggered", "CUDA_LAUNCH_BLOCKING"},
      {"RuntimeError: Mismatched NCCL version detected : ncclUniqueId 2.1", "versions of NCCL"},
      {"RuntimeError: Error(s) in loading state_dict for Net:\n\tsize mismatch for a.weight",
       "checkpoint is of another model"},
      {"_pickle.UnpicklingError: Weights only load failed. This file can still be loaded",
       "weights_only"},
      {"RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central "
       "directory",
       "damaged"},
      {"ValueError: loss is nan at step 3", "diverged"},
      {"RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.", "diverged"},
      {"RuntimeError: Expected to have finished reduction in the prior iteration before starting a "
       "new one.",
       "find_unused_parameters"},
      {"gloo::EnforceNotMet: [enforce fail at pair.cc:454] op.preamble.length <= op.nbytes. 9 vs "
       "4. "
       "Received data size doesn't match expected size.",
       "different sizes"},
      {"ModuleNotFoundError: No module named 'transformers'", "not installed"},
      {"ImportError: cannot import name 'x' from 'y'", "another version"},
      {"ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
       "library is missing"},
      {"ImportError: /x.so: undefined symbol: _ZN3c105ErrorC2E", "does not fit this PyTorch"},
      {"FileNotFoundError: [Errno 2] No such file or directory: 'data.bin'", "no such file"},
      {"python: can't open file '/x/train.py': [Errno 2] No such file or directory",
       "no such script"},
      {"PermissionError: [Errno 13] Permission denied: '/data'", "may not"},
      {"RuntimeError: can't start new thread", "ulimit -u"},
      {"train.py: error: unrecognized arguments: --lr 1", "does not know that option"},
      {"sh: 1: srun: command not found", "not in PATH"},
      {"socket.gaierror: [Errno -2] Name or service not known", "looked up"},
      {"OSError: [Errno 122] Disk quota exceeded", "quota"},
      {"RuntimeError: Cannot re-initialize CUDA in forked subprocess.", "spawn"},
  };
  for (const auto& [text, part] : known) {
    INFO(text);
    CHECK_THAT(std::string{hint_for(text)}, contains(part));
  }
}

TEST_CASE("a hint is one line, and unknown failures get none") {
  CHECK(hint_for("KeyError: 'x'").empty());
  CHECK(hint_for("").empty());
  CHECK(hint_for("ValueError: the loss of finance data").empty());
  CHECK_FALSE(hint_for_signal(SIGBUS).empty());
  CHECK(hint_for_signal(SIGUSR1).empty());
}

TEST_CASE("what follows from another worker's end is known") {
  const std::vector<std::pair<const char*, Consequence>> known{
      {"RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed "
       "by "
       "peer [127.0.0.1]:26535",
       Consequence::kConnectionClosed},
      {"RuntimeError: [pair.cc:521] Read error [127.0.0.1]:1: Connection reset by peer",
       Consequence::kConnectionReset},
      {"ConnectionResetError: [Errno 104] Connection reset by peer", Consequence::kConnectionReset},
      {"BrokenPipeError: [Errno 32] Broken pipe", Consequence::kBrokenPipe},
      {"torch.distributed.DistBackendError: NCCL error in: x.cpp:1, remote process exited or there "
       "was a network error, NCCL version 2.21",
       Consequence::kNcclLostRank},
      {"c10::DistBackendError: [PG ID 0 PG GUID 0(default_pg) Rank 0] Process group watchdog "
       "thread "
       "terminated with exception: [Rank 0] Watchdog caught collective operation timeout: WorkNCCL",
       Consequence::kCollectiveTimedOut},
      {"RuntimeError: [unbound_buffer.cc:84] Timed out waiting 1800000ms for recv operation to "
       "complete",
       Consequence::kCollectiveTimedOut},
      {"RuntimeError: [Rank 0]: Rank 1 failed to pass monitoredBarrier in 3000 ms",
       Consequence::kCollectiveTimedOut},
      {"torch.distributed.DistStoreError: wait timeout after 300000ms, keys: "
       "/default_pg/0//cuda//0",
       Consequence::kStoreTimedOut},
      {"torch.distributed.DistNetworkError: failed to recv, got 0 bytes", Consequence::kStoreLost},
      {"RuntimeError: Gloo connectFullMesh failed with [pair.cc:144] no error",
       Consequence::kConnectionRefused},
      {"ConnectionRefusedError: [Errno 111] Connection refused", Consequence::kConnectionRefused},
  };
  for (const auto& [text, what] : known) {
    INFO(text);
    CHECK(consequence_in(text) == what);
  }
}

TEST_CASE("faults of one's own are no consequences, also where sockets are involved") {
  for (const char* text :
       {"KeyError: 'x'", "OSError: [Errno 98] Address already in use",
        ("torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
         "network address. name: EADDRINUSE, message: address already in use"),
        "torch.OutOfMemoryError: CUDA out of memory.", "ValueError: loss is nan", ""}) {
    INFO(text);
    CHECK(consequence_in(text) == Consequence::kNone);
  }
}

}  // namespace
}  // namespace ddprun
