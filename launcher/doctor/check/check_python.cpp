#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "base/numbers.hpp"
#include "launcher/doctor/check/checks.hpp"
#include "launcher/doctor/check/finding.hpp"
#include "launcher/settings/foreign_script.hpp"

namespace ddprun {

namespace {

/// The number before the first point: 12 of "12.8".
std::optional<int> major_of(std::string_view version) {
  return parse_number<int>(version.substr(0, version.find('.')));
}

bool has_gpus(const NodeReading& node) {
  return node.gpus && (!node.gpus->gpus.empty() || node.gpus->present.value_or(0) > 0);
}

/// Since CUDA 11, a driver runs all that was built for its major version
/// (https://docs.nvidia.com/deploy/cuda-compatibility/), so minor versions are not compared.
void check_cuda(const NodeReading& node, NodeFindings& found) {
  const PythonReading& python = *node.python;
  if (!node.gpus && !python.cuda.empty())
    return found.warn(
        "cuda", {fmt::format("torch is built for CUDA {}, and there is no GPU here", python.cuda),
                 "a script that uses CUDA fails at its first call",
                 "in a container, use --gpus all; in Slurm, ask for --gres=gpu; to "
                 "train on CPUs, nothing"});
  if (!has_gpus(node)) return;
  if (python.cuda.empty()) {
    if (python.torch.find("rocm") != std::string::npos) return;
    return found.warn("cuda", {fmt::format("torch {} was built without CUDA", python.torch),
                               "this node has GPUs, and torch.cuda.is_available() is False",
                               "install the build with CUDA: https://pytorch.org/get-started"});
  }
  const auto built_for = major_of(python.cuda), driver = major_of(node.gpus->cuda);
  if (!built_for || !driver) return;
  const std::string seen = fmt::format("torch was built for CUDA {}, the driver {} runs up to {}",
                                       python.cuda, node.gpus->driver, node.gpus->cuda);
  found.add(*built_for > *driver ? Severity::kFailed : Severity::kOk, "cuda",
            {seen, "torch finds no GPU: \"The NVIDIA driver on your system is too old\"",
             fmt::format("install a newer driver, or a torch for CUDA {}", *driver)});
}

void check_torch(const NodeReading& node, NodeFindings& found) {
  const PythonReading& python = *node.python;
  if (python.torch.empty())
    return found.warn("torch",
                      {fmt::format("{} has no torch", python.path), "most training scripts need it",
                       "activate the environment that has it (VIRTUAL_ENV), or name its "
                       "Python in PYTHON_EXEC"});
  found.ok("torch", fmt::format("torch {}{}{}", python.torch,
                                python.cuda.empty() ? "" : ", built for CUDA " + python.cuda,
                                python.nccl.empty() ? "" : ", NCCL " + python.nccl));
  check_cuda(node, found);
}

/// `python` is the path of the one that runs it; "": there is none.
void check_script(const ScriptReading& script, const std::string& python, NodeFindings& found) {
  if (!script.error.empty())
    return found.fail("script", {fmt::format("{}: {}", script.path, script.error),
                                 "the workers of this node cannot start",
                                 "copy it there, or use a folder that all nodes share"});
  if (!script.foreign.empty())
    return found.warn("script", {fmt::format("{} is {}", script.path, script.foreign),
                                 "Python ends with SyntaxError, and ddprun does not start it",
                                 "start the job with " + words_for_program(script.path)});
  found.ok("script", fmt::format("{}, SHA-256 {}…", script.path, script.sha256.substr(0, 12)));
  if (script.missing_modules.empty()) return;
  const bool one = script.missing_modules.size() == 1;
  found.fail("modules",
             {fmt::format("{} imports {}, which {} does not find", script.path,
                          list_text(script.missing_modules), python.empty() ? "Python" : python),
              "the workers of this node end with ModuleNotFoundError",
              fmt::format("install {} for this Python ({} package may have another name: cv2 is "
                          "opencv-python), or set PYTHONPATH",
                          one ? "it" : "them", one ? "its" : "a")});
}

}  // namespace

Findings check_python(const NodeReading& node) {
  NodeFindings found{node.node};
  if (node.python) {
    const PythonReading& python = *node.python;
    if (!python.error.empty()) {
      // Without a script, the job may be a program that is no Python.
      const bool runs_python = node.script && node.script->foreign.empty();
      found.add(runs_python ? Severity::kFailed : Severity::kWarning, "python",
                {python.error, "workers that are scripts cannot start",
                 "install Python, activate an environment, or name one in PYTHON_EXEC"});
    } else {
      const std::string of = python.doubt.empty() ? "" : ": " + python.doubt;
      found.ok("python", fmt::format("Python {}, {}{}", python.version, python.path, of));
      check_torch(node, found);
    }
  }
  if (node.script) check_script(*node.script, node.python ? node.python->path : "", found);
  return found.take();
}

}  // namespace ddprun
