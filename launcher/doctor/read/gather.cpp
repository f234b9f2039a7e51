#include "launcher/doctor/read/gather.hpp"

#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/machine/devices.hpp"
#include "base/machine/gpu_driver.hpp"
#include "base/machine/machine_topology.hpp"
#include "base/process/query_process.hpp"
#include "base/system/left_behind.hpp"
#include "base/system/own_process.hpp"
#include "base/system/whole_file.hpp"
#include "launcher/doctor/read/addresses.hpp"
#include "launcher/doctor/read/folder_probe.hpp"
#include "launcher/doctor/read/kernel_files.hpp"
#include "launcher/doctor/read/name_probe.hpp"
#include "launcher/doctor/read/survey_source.hpp"
#include "launcher/settings/program.hpp"
#include "worker_sdk/checkpoint_files/hashed_file.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

constexpr auto kFolderTimeout = 5s;
constexpr auto kLookupTimeout = 3s;
constexpr auto kNameServersTimeout = 2s;
constexpr auto kFindTimeout = 5s;
constexpr auto kPythonTimeout = 10s;
constexpr auto kScriptTimeout = 5s;
constexpr auto kGpuTimeout = 20s;  // a driver takes seconds to wake up unused GPUs
constexpr auto kGpuTimeoutBetweenRounds = 5s;

constexpr auto kBetweenLooks = 200ms;  // the kernel counts in 10 ms

// --- read at once ---

void read_own_limits(LimitsReading& limits) {
  const auto number = [](rlim_t limit) {
    return limit == RLIM_INFINITY ? kUnlimited : static_cast<std::int64_t>(limit);
  };
  rlimit found{};
  if (::getrlimit(RLIMIT_NOFILE, &found) == 0) {
    limits.open_files = number(found.rlim_cur);
    limits.open_files_hard = number(found.rlim_max);
  }
  if (::getrlimit(RLIMIT_NPROC, &found) == 0) limits.processes = number(found.rlim_cur);
  if (::getrlimit(RLIMIT_MEMLOCK, &found) == 0) limits.locked_bytes = number(found.rlim_cur);
}

struct FreeInterfaces {
  void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};

/// The kernel is asked, because /sys may be that of another network namespace.
std::optional<int> mtu_of(const std::string& interface) {
  const Descriptor socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ifreq request{};
  interface.copy(request.ifr_name, sizeof request.ifr_name - 1);
  if (::ioctl(socket.number(), SIOCGIFMTU, &request) != 0) return std::nullopt;
  return request.ifr_mtu;
}

std::vector<InterfaceReading> read_interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, FreeInterfaces> owned{list};
  std::vector<InterfaceReading> interfaces;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    auto found = std::ranges::find(interfaces, each->ifa_name, &InterfaceReading::name);
    if (found == interfaces.end()) {
      interfaces.push_back({.name = each->ifa_name});
      found = interfaces.end() - 1;
      found->up = (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_RUNNING) != 0;
      found->loopback = (each->ifa_flags & IFF_LOOPBACK) != 0;
      found->mtu = mtu_of(found->name);
    }
    if (const sockaddr* address = each->ifa_addr; address != nullptr)
      if (address->sa_family == AF_INET || address->sa_family == AF_INET6)
        found->addresses.push_back(numeric_address(*address));
  }
  return interfaces;
}

// --- asked in processes of their own ---

/// Fills in a part of a reading; it may take long, hang, or crash.
using Look = std::function<void(NodeReading&)>;
/// Takes over what a process has found, or why it has found nothing.
using Take = std::function<void(Result<NodeReading>)>;

QueryProcess child_that(std::chrono::milliseconds timeout, const Look& look) {
  return QueryProcess::start(timeout, [&look] {
    NodeReading part;
    look(part);
    return to_line(part);
  });
}

Result<NodeReading> found_by(QueryProcess child) {
  const auto answer = child.answer();
  return answer ? parse_reading(*answer) : answer.error();
}

class Questions {
 public:
  Questions(const ReadingOptions& options, const LocalSystem& system, NodeReading& reading)
      : options_{options}, system_{system}, reading_{reading} {}

  void ask() {
    ask_gpus(kGpuTimeout);
    ask_names();
    ask_folders();
    ask_script();  // this waits, so all others have started
    ask_python();
  }

  void ask_for_fitness(const std::vector<std::string>& folders) {
    ask_gpus(kGpuTimeoutBetweenRounds);
    ask_folders();
    for (const std::string& folder : folders) ask_folder("checkpoints", folder);
  }

  void take_answers() {
    for (auto& [child, take] : asked_) take(found_by(std::move(child)));
  }

  bool gpus_are_late() const { return gpus_are_late_; }

 private:
  void ask(std::chrono::milliseconds timeout, const Look& look, Take take) {
    asked_.emplace_back(child_that(timeout, look), std::move(take));
  }

  void ask_folders() {
    const auto temporary = system_.environment("TMPDIR");
    ask_folder("temporary files", temporary && !temporary->empty() ? *temporary : "/tmp");
    if (!options_.log_dir.empty()) ask_folder("logs", options_.log_dir);
    if (!options_.checkpoint_dir.empty()) ask_folder("checkpoints", options_.checkpoint_dir);
    if (options_.keeps_checkpoints) ask_checkpoints();
  }

  void ask_checkpoints() {
    const auto look = [this](NodeReading& part) {
      part.checkpoints = probe_checkpoints(options_.checkpoint_dir);
    };
    ask(kFolderTimeout, look, [this](Result<NodeReading> part) {
      if (part) reading_.checkpoints = std::move(part->checkpoints);
    });
  }

  void ask_folder(const std::string& role, const std::string& path) {
    const auto look = [&](NodeReading& part) { part.folders = {probe_folder(role, path)}; };
    const std::size_t place = reading_.folders.size();
    reading_.folders.push_back({.role = role, .path = path});
    ask(kFolderTimeout, look, [this, place](Result<NodeReading> part) {
      FolderReading& folder = reading_.folders[place];
      if (part && !part->folders.empty())
        folder = std::move(part->folders.front());
      else if (!part)
        folder.error = fmt::format("{}: {}", part.error().message, kIsItThere);
    });
  }

  void ask_gpus(std::chrono::milliseconds timeout) {
    if (!reading_.gpus && ::access("/dev/nvidiactl", F_OK) != 0) return;
    // To open a device file wakes the GPU up, so the process that asks the driver does it.
    const auto look = [](NodeReading& part) {
      const int present = openable_gpus();
      part.gpus = present > 0 ? ask_gpu_driver() : GpusReading{};
      part.gpus->present = present;
    };
    ask(timeout, look, [this](Result<NodeReading> part) {
      gpus_are_late_ = !part && part.error().kind == Error::Kind::kTimeout;
      const auto on_bus = reading_.gpus ? reading_.gpus->on_bus : std::nullopt;
      reading_.gpus = part ? std::move(part->gpus) : GpusReading{.error = part.error().message};
      if (reading_.gpus) reading_.gpus->on_bus = on_bus;
    });
  }

  void ask_names() {
    NamesReading& names = reading_.names;
    names.own_name = LookupReading{.question = reading_.node};  // without a time: it is silent
    ask_for(&NamesReading::own_name, kLookupTimeout, [&] { return look_up_name(reading_.node); });
    if (const std::string address = first_address(reading_); !address.empty()) {
      names.own_address = LookupReading{.question = address};
      ask_for(&NamesReading::own_address, kLookupTimeout, [&] { return look_up_address(address); });
    }
    const auto servers = name_servers_in(text_if_any("/etc/resolv.conf"));
    if (!servers.empty())
      ask_for(&NamesReading::servers, kNameServersTimeout,
              [&] { return ask_name_servers(servers); });
  }

  /// Without an answer, the part of the reading stays as it is.
  template <typename Part, typename Find>
  void ask_for(Part NamesReading::*part, std::chrono::milliseconds timeout, const Find& find) {
    const auto look = [&](NodeReading& reading) { reading.names.*part = find(); };
    ask(timeout, look, [this, part](Result<NodeReading> found) {
      if (found) reading_.names.*part = std::move(found->names.*part);
    });
  }

  /// Python is asked what a script needs only where the script can be read.
  void ask_script() {
    if (options_.script.empty()) return;
    const auto look = [this](NodeReading& part) {
      ScriptReading& script = part.script.emplace(ScriptReading{.path = options_.script});
      try {  // an error names the folder, too
        script.sha256 = sdk::sha256_of_file(std::filesystem::absolute(options_.script));
        script.foreign = foreign_script(options_.script, system_);
      } catch (const std::exception& e) {
        script.error = e.what();
      }
    };
    auto part = found_by(child_that(kScriptTimeout, look));
    reading_.script = part ? std::move(part->script)
                           : ScriptReading{.path = options_.script, .error = part.error().message};
  }

  void ask_python() {
    const auto look = [this](NodeReading& part) {
      const auto path = find_python(system_);
      part.python =
          path ? PythonReading{.path = *path} : PythonReading{.error = path.error().message};
    };
    const auto part = found_by(child_that(kFindTimeout, look));
    reading_.python = part ? part->python.value_or(PythonReading{})
                           : PythonReading{.error = part.error().message};
    if (!reading_.python->error.empty()) return;
    std::vector<std::string> words{reading_.python->path, "-c", kSurvey};
    if (reading_.script && reading_.script->error.empty()) words.push_back(options_.script);
    asked_.emplace_back(QueryProcess::run(kPythonTimeout, words), [this](Result<NodeReading> told) {
      if (!told || !told->python) {
        const std::string why = told ? "it tells nothing" : told.error().message;
        reading_.python->error = reading_.python->path + " does not run: " + why;
        return;
      }
      reading_.python = std::move(told->python);
      reading_.python->doubt = environment_in_doubt(system_.environment);
      if (reading_.script && told->script)
        reading_.script->missing_modules = std::move(told->script->missing_modules);
    });
  }

  const ReadingOptions& options_;
  const LocalSystem& system_;
  NodeReading& reading_;
  bool gpus_are_late_ = false;
  std::vector<std::pair<QueryProcess, Take>> asked_;
};

}  // namespace

NodeReading read_this_node(const ReadingOptions& options, const LocalSystem& system) {
  NodeReading reading{.node = host_name(), .ddprun = DDPRUN_VERSION};
  const ProcessesLook before = look_at_processes("/");
  const TimePoint looked = Clock::now();
  read_kernel_files("/", reading);
  reading.interfaces = read_interfaces();
  Questions questions{options, system, reading};
  questions.ask();
  read_own_limits(reading.limits);
  if (const auto shm = space_of("/dev/shm")) {
    reading.memory.shm_bytes = shm->total_bytes;
    reading.memory.shm_free_bytes = shm->free_bytes;
  }
  const std::vector<int> cpus = allowed_cpus();
  if (!cpus.empty()) reading.cpus.usable = static_cast<int>(cpus.size());
  reading.nccl_interfaces = system.environment("NCCL_SOCKET_IFNAME").value_or("");
  reading.gloo_interfaces = system.environment("GLOO_SOCKET_IFNAME").value_or("");
  questions.take_answers();
  std::this_thread::sleep_until(looked + kBetweenLooks);
  reading.cpus.busy = busy_processes(before, look_at_processes("/"), cpus);
  return reading;
}

FitnessReading read_for_fitness(const std::string& log_dir, const std::vector<std::string>& folders,
                                const LocalSystem& system) {
  FitnessReading reading{.node = {.node = host_name()}};
  const ReadingOptions options{.log_dir = log_dir};
  Questions questions{options, system, reading.node};
  questions.ask_for_fitness(folders);
  questions.take_answers();
  reading.gpus_are_late = questions.gpus_are_late();
  if (reading.gpus_are_late) reading.node.gpus.reset();
  return reading;
}

}  // namespace ddprun
