#include "rendezvous/verdict/hints.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <span>
#include <string>
#include <vector>

#include "rendezvous/verdict/text_lines.hpp"

namespace ddprun {

namespace {

struct Hint {
  std::string_view patterns;  // see matches_one()
  std::string_view hint;
};

// clang-format off
// The first one that fits counts, so what is more special comes first.
constexpr std::array kHints{
    // Shared memory of data loaders.
    Hint{"bus error*shm|dataloader worker*bus error|unable to open shared memory object|insufficient shared memory|unable to allocate shared memory|/dev/shm*no space left on device|no space left on device*/dev/shm|could not unlink the shared memory file", "/dev/shm is too small for the data loader: --shm-size for a container, or fewer num_workers"},
    Hint{"dataloader worker*killed by signal: killed", "the kernel killed a data loader for want of memory: fewer num_workers, or more memory"},
    // Memory of GPUs and of the host.
    Hint{"cuda out of memory", "the GPU's memory is full: a smaller batch, gradient checkpointing, or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True against fragments"},
    Hint{"torch.outofmemoryerror", "the device's memory is full: a smaller batch, or gradient checkpointing"},
    Hint{"hip out of memory", "the GPU's memory is full: a smaller batch, or gradient checkpointing"},
    Hint{"cuda_error_out_of_memory", "the GPU's memory is full: look for other processes on it with nvidia-smi"},
    Hint{"cublas_status_alloc_failed", "the GPU's memory is full: a smaller batch"},
    Hint{"defaultcpuallocator: can't allocate memory", "the host's memory is full: fewer workers, fewer data loaders, or a smaller batch"},
    Hint{"memoryerror", "the host's memory is full: fewer workers, fewer data loaders, or smaller data"},
    Hint{"cannot allocate memory|std::bad_alloc", "the host's memory is full, or its limit (ulimit -v, the cgroup's) is reached"},
    // Disks and files.
    Hint{"no space left on device|unexpected pos*vs", "a disk is full: look with df -h and df -i, also at /tmp and at the checkpoint's folder"},
    Hint{"disk quota exceeded", "the user's quota on that file system is used up"},
    Hint{"read-only file system", "that file system cannot be written to: choose another folder"},
    Hint{"stale file handle", "a file on a network file system was replaced or removed meanwhile"},
    Hint{"too many open files", "raise the limit of open files (ulimit -n), or torch.multiprocessing.set_sharing_strategy('file_system')"},
    Hint{"received 0 items of ancdata", "too many open files: raise ulimit -n, or torch.multiprocessing.set_sharing_strategy('file_system')"},
    Hint{"resource temporarily unavailable*thread|can't start new thread", "too many processes or threads: raise ulimit -u, or fewer data loaders and OMP_NUM_THREADS"},
    Hint{"libgomp: thread creation failed", "too many processes or threads: raise ulimit -u, or a smaller OMP_NUM_THREADS"},
    // Ports and networks.
    Hint{"address already in use|eaddrinuse", "another process has that port, perhaps another rank of this node: end it, or give each rank a port of its own; the job's own is --master-port or --rdzv-endpoint"},
    Hint{"nccl*no socket interface found|bootstrap : no socket interface found", "NCCL finds no network interface: NCCL_SOCKET_IFNAME must name one that this node has (ip -br addr)"},
    Hint{"unable to find interface|unable to find address for", "GLOO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME must name an interface that this node has (ip -br addr)"},
    Hint{"unable to resolve hostname to a (local) address", "this node's name has no address of its own: set GLOO_SOCKET_IFNAME (ip -br addr)"},
    Hint{"unsupported gloo options", "GLOO_SOCKET_IFNAME must name an interface that this node has (ip -br addr)"},
    Hint{"name or service not known|temporary failure in name resolution", "a host name cannot be looked up on this node: an address, or /etc/hosts"},
    // GPUs, drivers and versions.
    Hint{"duplicate gpu detected", "two ranks use the same GPU: torch.cuda.set_device(LOCAL_RANK), and not more workers than GPUs"},
    Hint{"invalid device ordinal", "this node has fewer GPUs than workers, or CUDA_VISIBLE_DEVICES hides some: compare with --nproc-per-node"},
    Hint{"processgroupnccl is only supported with gpus", "NCCL needs GPUs: init_process_group(\"gloo\") on CPUs; in a container, --gpus all"},
    Hint{"no cuda gpus are available", "no GPU is visible here: nvidia-smi, CUDA_VISIBLE_DEVICES, and the container's --gpus"},
    Hint{"found no nvidia driver", "there is no driver for the GPU on this node, or the container cannot see it"},
    Hint{"torch not compiled with cuda enabled", "this PyTorch is a build without CUDA: install one with it"},
    Hint{"driver version is insufficient|nvidia driver on your system is too old", "the GPU's driver is older than this CUDA needs: a newer driver, or a PyTorch for an older CUDA"},
    Hint{"no kernel image is available for execution", "this PyTorch was not built for that GPU: a newer build of it"},
    Hint{"device-side assert triggered", "an index or a label is out of range on the GPU: CUDA_LAUNCH_BLOCKING=1 shows the line"},
    Hint{"uncorrectable ecc error", "the GPU's memory is faulty: take that node out (nvidia-smi -q -d ECC)"},
    Hint{"gpu has fallen off the bus", "the GPU is gone: take that node out (dmesg, Xid 79)"},
    Hint{"cuda error: an illegal memory access", "a kernel wrote where it may not: CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer shows which"},
    Hint{"cuda error: unspecified launch failure", "a kernel crashed: CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer shows which; look for Xid in dmesg"},
    Hint{"nccl*version mismatch|mismatched nccl version", "the nodes have different versions of NCCL: the same environment on all of them"},
    Hint{"ncclinvalidusage", "usually two ranks use the same GPU; NCCL_DEBUG=WARN shows more"},
    Hint{"ncclsystemerror|unhandled system error", "NCCL_DEBUG=INFO says which call failed; look at NCCL_SOCKET_IFNAME, /dev/shm and ulimit -l"},
    Hint{"version `glibc*not found", "this program was built for a newer system than this node's"},
    Hint{"version `glibcxx*not found", "this program needs a newer libstdc++ than this node's: conda install libstdcxx-ng, or LD_LIBRARY_PATH"},
    Hint{"undefined symbol", "a compiled extension does not fit this PyTorch: build or install it again for this version"},
    Hint{"getpwuid(): uid not found", "this user has no name here, as with --user of a container: set USER to any name"},
    Hint{"error while loading shared libraries|cannot open shared object file", "a library is missing on this node: LD_LIBRARY_PATH, or install it here, too"},
    // Models, data, training.
    Hint{"error(s) in loading state_dict", "the checkpoint is of another model: compare its configuration, and prefixes such as 'module.'"},
    Hint{"size mismatch for", "the checkpoint is of another model: compare its configuration"},
    Hint{"missing key(s) in state_dict", "the checkpoint is of another model: compare its configuration, and prefixes such as 'module.'"},
    Hint{"weightsunpickler error:*unsupported operand 118|weightsunpickler error:*unsupported operand 60|weightsunpickler error:*unsupported operand 123", "the checkpoint is damaged, or a text is in its place, such as git-lfs's pointer or a web page: fetch it again"},
    Hint{"weights only load failed", "the checkpoint holds more than tensors: torch.load(..., weights_only=False) if you trust it"},
    Hint{"pytorchstreamreader failed|invalid magic number; corrupt file|safetensors*headertoo", "the checkpoint is damaged or half-written: take the one before"},
    Hint{"loss is nan|nan loss|loss became nan|loss: nan|loss = nan|loss=nan|loss nan|non-finite loss|loss is not finite", "the training diverged: a smaller learning rate, gradient clipping, bf16 in place of fp16; torch.autograd.set_detect_anomaly(True) finds the operation"},
    Hint{"returned nan values", "the training diverged there: look at learning rate, gradient clipping and data"},
    Hint{"nan or inf found", "the training diverged: a smaller learning rate, gradient clipping, bf16 in place of fp16"},
    Hint{"expected to have finished reduction in the prior iteration", "some parameters took no part in the loss: DistributedDataParallel(find_unused_parameters=True), or use all of them"},
    Hint{"expected to mark a variable ready only once", "a parameter is used twice in a step: static_graph=True, or no reentrant checkpointing"},
    Hint{"inconsistent with*collective|detected mismatch between collectives", "the ranks call different collectives: a branch on rank or data around one of them"},
    Hint{"received data size doesn't match expected size|op.preamble.length", "the ranks give tensors of different sizes to one collective: uneven batches, or a branch on rank or data"},
    Hint{"expected all tensors to be on the same device", "a tensor or the model was not moved: .to(LOCAL_RANK)"},
    Hint{"default process group has not been initialized", "torch.distributed.init_process_group() has to be called first"},
    Hint{"mat1 and mat2 shapes cannot be multiplied", "the model's layers, or its input, have other sizes than expected"},
    // Modules, files, rights.
    Hint{"no module named 'ddprun'", "the Python module of ddprun is not installed here: pip install its wheel, or PYTHONPATH=CLONE/worker_sdk/python"},
    Hint{"modulenotfounderror|no module named", "that module is not installed for the Python that runs the workers: PYTHON_EXEC, or the virtual environment on this node"},
    Hint{"importerror: cannot import name", "that package has another version here than the script expects"},
    Hint{"can't open file", "there is no such script on this node: look at its path and at the working directory"},
    Hint{"filenotfounderror|no such file or directory", "there is no such file on this node: look at the path, the working directory, and whether it is shared between nodes"},
    Hint{"permission denied|permissionerror", "the user of this job may not do that: look at the owner and the mode of the file"},
    Hint{"command not found", "that program is not installed on this node, or not in PATH"},
    Hint{"exec format error", "that program is for another kind of processor, or a script without #! in its first line"},
    Hint{"unrecognized arguments", "the script does not know that option; ddprun's own options go before the script"},
    Hint{"gated repo", "accept the model's terms on huggingface.co, and set HF_TOKEN on all nodes"},
    Hint{"huggingface*offline", "the model is not in this node's cache: load it before, or set HF_HOME to a shared folder"},
    Hint{"couldn't connect to 'https://huggingface.co'", "this node has no way to huggingface.co: load the model before, and set HF_HUB_OFFLINE=1"},
    Hint{"libibverbs*fork", "RDMA and fork do not go together: RDMAV_FORK_SAFE=1, or the spawn start method for data loaders"},
    Hint{"cannot re-initialize cuda in forked subprocess", "use the start method spawn for processes that use CUDA"},
    Hint{"recursionerror", "a function calls itself without end, or the data is nested too deeply"},
};

// These failures do not say what their reason is: what another rank's end, or a network, brings
// about. They count only where no other hint is known.
constexpr std::array kVagueHints{
    Hint{"dataloader worker*exited unexpectedly", "a data loader process died: run with num_workers=0 to see why, and look at memory and /dev/shm"},
    Hint{"wait timeout after*keys", "a rank did not reach the store in time: look for one that is slow, or that never called init_process_group"},
    Hint{"watchdog caught collective operation timeout", "a rank did not reach a collective: run with --hang-timeout to learn which and where"},
    Hint{"the client socket has timed out", "the store cannot be reached: a firewall, or MASTER_ADDR is no address of the first node"},
    Hint{"connection refused", "no process listens there: the other side has ended, or the address is wrong"},
};
// clang-format on

/// The first of the hints that fits a text in small letters; "" when none does.
std::string_view first_of(std::span<const Hint> hints, std::string_view small) {
  const auto found = std::ranges::find_if(
      hints, [&](const Hint& each) { return matches_one(small, each.patterns); });
  return found == hints.end() ? "" : found->hint;
}

}  // namespace

std::string_view hint_for(std::string_view text) {
  return hint_for(std::vector{std::string{text}});
}

std::string_view hint_for(const std::vector<std::string>& chain) {
  for (const std::span<const Hint> hints : {std::span<const Hint>{kHints}, {kVagueHints}})
    for (const std::string& text : chain)
      if (const auto hint = first_of(hints, lower_case(text)); !hint.empty()) return hint;
  return "";
}

std::string_view hint_for_signal(int signal) {
  switch (signal) {
    case SIGBUS:
      return "usually /dev/shm or a disk is full, or a mapped file was truncated: df -h /dev/shm";
    case SIGSEGV:
      return "a crash in native code: PYTHONFAULTHANDLER=1 names the line of Python, a core dump "
             "the rest";
    case SIGILL:
      return "the program was built for another processor than this node's";
    case SIGKILL:
      return "somebody killed it: the kernel for want of memory (dmesg), a scheduler, or a person";
    case SIGXCPU:
      return "the limit of CPU time is used up (ulimit -t)";
    default:
      return "";
  }
}

}  // namespace ddprun
