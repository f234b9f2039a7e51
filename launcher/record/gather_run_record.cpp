#include "launcher/record/gather_run_record.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/system/whole_file.hpp"
#include "launcher/record/hidden_secrets.hpp"
#include "launcher/record/program_facts.hpp"
#include "worker_sdk/checkpoint_files/hashed_file.hpp"

namespace ddprun {

namespace {

namespace fs = std::filesystem;

/// Variables with these beginnings matter to a training.
constexpr std::string_view kRecordedVariables[] = {"NCCL_", "TORCH_",   "CUDA_",
                                                   "GLOO_", "PYTORCH_", "OMP_"};
constexpr std::uintmax_t kScriptBytesMax = 64 * 1024 * 1024;  // a program may be larger
constexpr std::size_t kTextBytesMax = 64 * 1024;

/// "" where there is none that can be read. A terminal is read: in a test it is a disk that hangs.
std::string text_of_file(const fs::path& path) {
  std::error_code error;
  if (fs::is_fifo(path, error)) return "";
  auto text = read_text(path, kTextBytesMax, ReadFrom::kPipesToo);
  return text ? *std::move(text) : "";
}

std::string hash_of(const fs::path& path) try {
  const fs::path real = fs::canonical(path);
  return fs::file_size(real) <= kScriptBytesMax ? sdk::sha256_of_file(real) : "";
} catch (const std::exception&) {
  return "";
}

std::string value_of(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment)
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  return "";
}

std::map<std::string, std::string> recorded_variables(const std::vector<std::string>& environment) {
  std::map<std::string, std::string> out;
  for (const std::string& entry : environment) {
    const bool matters = std::ranges::any_of(
        kRecordedVariables, [&](std::string_view begins) { return entry.starts_with(begins); });
    const std::size_t equals = entry.find('=');
    if (!matters || equals == std::string::npos) continue;
    const std::string name = entry.substr(0, equals);
    out[name] = without_secrets(name, entry.substr(equals + 1));
  }
  return out;
}

/// What pyenv (https://github.com/pyenv/pyenv) runs for one of its names, which is a script that
/// would tell nothing; any other program as it is.
fs::path behind_pyenv(const fs::path& program, const std::vector<std::string>& environment) {
  const fs::path shims = program.parent_path();
  if (shims.filename() != "shims") return program;
  std::error_code error;
  std::string chosen = value_of(environment, "PYENV_VERSION");
  for (fs::path folder = fs::current_path(error); chosen.empty() && !folder.empty();
       folder = folder.parent_path()) {
    chosen = text_of_file(folder / ".python-version");
    if (folder == folder.root_path()) break;
  }
  if (chosen.empty()) chosen = text_of_file(shims.parent_path() / "version");
  chosen = chosen.substr(0, chosen.find_first_of(" :\n"));
  if (chosen.empty()) return program;
  const fs::path real = shims.parent_path() / "versions" / chosen / "bin" / program.filename();
  return fs::exists(real, error) ? real : program;
}

/// An installation of Python, as its folders tell.
class PythonFiles {
 public:
  PythonFiles(const fs::path& program, const std::vector<std::string>& environment)
      : environment_{environment} {
    find_installation(behind_pyenv(program, environment));
    for (const std::string& folder : folders_of_variable("PYTHONPATH")) sites_.push_back(folder);
    add_sites(prefix_);
    if (!base_prefix_.empty()) {
      if (const std::string home = value_of(environment_, "HOME");
          !home.empty() && value_of(environment_, "PYTHONNOUSERSITE").empty())
        sites_.push_back(fs::path{home} / ".local/lib" / ("python" + series_) / "site-packages");
      add_sites(base_prefix_);
      sites_.push_back(base_prefix_ / "local/lib" / ("python" + series_) / "dist-packages");
      sites_.push_back(base_prefix_ / "lib/python3/dist-packages");  // Debian's
    }
  }

  const std::string& version() const { return version_; }

  std::string torch() const {
    for (const fs::path& site : sites_)
      if (auto found = torch_version_in(text_of_file(site / "torch/version.py")); !found.empty())
        return found;
    return "";
  }

  /// The file of a module that is run with -m; "": it was not found.
  fs::path file_of(std::string module) const {
    std::ranges::replace(module, '.', '/');
    std::error_code error;
    std::vector<fs::path> folders{fs::current_path(error)};
    folders.insert(folders.end(), sites_.begin(), sites_.end());
    for (const fs::path& folder : folders)
      for (const std::string& file : {module + ".py", module + "/__main__.py"})
        if (fs::is_regular_file(folder / file, error)) return folder / file;
    return {};
  }

 private:
  /// A virtual environment says what it is made of; a program of the system is in its own folder.
  void find_installation(const fs::path& program) {
    std::error_code error;
    prefix_ = program.parent_path().parent_path();
    const std::string venv = text_of_file(prefix_ / "pyvenv.cfg");
    const fs::path real = fs::canonical(program, error);
    version_ = python_version_of_venv(venv);
    if (version_.empty()) version_ = python_version_in_name(real.filename().string());
    if (venv.empty())
      base_prefix_ = real.parent_path().parent_path();
    else if (venv_value(venv, "include-system-site-packages") == "true")
      base_prefix_ = fs::path{venv_value(venv, "home")}.parent_path();
    version_ = python_version_of_folder(version_, base_prefix_.filename().string());
    series_ = version_.substr(0, version_.find('.', version_.find('.') + 1));
  }

  std::vector<std::string> folders_of_variable(const std::string& name) const {
    std::vector<std::string> folders;
    const std::string list = value_of(environment_, name);
    for (std::size_t at = 0; at < list.size();) {
      const std::size_t end = std::min(list.find(':', at), list.size());
      if (end > at) folders.push_back(list.substr(at, end - at));
      at = end + 1;
    }
    return folders;
  }

  void add_sites(const fs::path& prefix) {
    if (!prefix.empty() && !series_.empty())
      sites_.push_back(prefix / "lib" / ("python" + series_) / "site-packages");
  }

  const std::vector<std::string>& environment_;
  fs::path prefix_, base_prefix_;  // "": packages of the base are not used
  std::string version_;            // "3.11.2", or as much of it as is known
  std::string series_;             // "3.11"
  std::vector<fs::path> sites_;    // folders of packages, in the order of sys.path
};

RecordedScript script_of(const LaunchSpec& spec, const ProgramWords& words,
                         const std::optional<PythonFiles>& python) {
  std::error_code error;
  RecordedScript script{.name = words.module, .path = "-m " + words.module};
  fs::path file = words.file;
  if (!words.module.empty()) file = python ? python->file_of(words.module) : fs::path{};
  if (file.empty()) return script;
  script.path = fs::absolute(file, error).lexically_normal().string();
  if (script.name.empty()) script.name = file.filename().string();
  if (script.name.empty()) script.name = spec.title;
  script.sha256 = hash_of(file);
  return script;
}

}  // namespace

RunRecord gather_run_record(const LaunchSpec& spec, const std::vector<std::string>& environment) {
  const ProgramWords words = program_words(spec);
  std::optional<PythonFiles> python;
  if (words.python) python.emplace(spec.program, environment);
  RunRecord record{.script = script_of(spec, words, python),
                   .arguments = without_secrets(words.arguments),
                   .environment = recorded_variables(environment),
                   .ddprun = DDPRUN_VERSION};
  for (const auto& [name, value] : spec.logs.record.options)
    record.options[name] = without_secrets(name, value);
  if (python) {
    record.python_path = spec.program;
    record.python = python->version();
    record.torch = python->torch();
  }
  record.driver = driver_version_in(text_of_file("/proc/driver/nvidia/version"));
  const std::string kernel = text_of_file("/proc/sys/kernel/osrelease");
  record.kernel = kernel.substr(0, kernel.find('\n'));
  record.workers = spec.workers;
  return record;
}

}  // namespace ddprun
