#include "launcher/doctor/gather.hpp"

#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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
#include "base/machine/machine_topology.hpp"
#include "base/machine/nvml_library.hpp"
#include "base/process/asked_child.hpp"
#include "base/system/left_behind.hpp"
#include "base/system/own_process.hpp"
#include "base/system/whole_file.hpp"
#include "launcher/doctor/folder_probe.hpp"
#include "launcher/doctor/interface_choice.hpp"
#include "launcher/doctor/kernel_files.hpp"
#include "launcher/doctor/name_probe.hpp"
#include "launcher/doctor/reading_json.hpp"
#include "launcher/doctor/survey_source.hpp"
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
constexpr auto kGpuTimeout = 20s;  // a driver takes seconds to wake up GPUs that nobody uses
constexpr auto kGpuTimeoutBetweenRounds = 5s;

constexpr auto kBetweenLooks = 200ms;  // the kernel counts in 10 ms

// --- read at once ---

std::int64_t limit_of(rlim_t limit) {
  return limit == RLIM_INFINITY ? kUnlimited : static_cast<std::int64_t>(limit);
}

void read_own_limits(LimitsReading& limits) {
  rlimit found{};
  if (::getrlimit(RLIMIT_NOFILE, &found) == 0) {
    limits.open_files = limit_of(found.rlim_cur);
    limits.open_files_hard = limit_of(found.rlim_max);
  }
  if (::getrlimit(RLIMIT_NPROC, &found) == 0) limits.processes = limit_of(found.rlim_cur);
  if (::getrlimit(RLIMIT_MEMLOCK, &found) == 0) limits.locked_bytes = limit_of(found.rlim_cur);
}

void read_shm(MemoryReading& memory) {
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) != 0) return;
  const auto block = static_cast<std::int64_t>(shm.f_frsize);
  memory.shm_bytes = static_cast<std::int64_t>(shm.f_blocks) * block;
  memory.shm_free_bytes = static_cast<std::int64_t>(shm.f_bavail) * block;
}

/// What a process of ours has found, or why it has not, as what_was_found() reads it.
std::string found(const Result<std::string>& what) {
  return what ? "+" + *what : "-" + what.error().message;
}

Result<std::string> what_was_found(const Result<std::string>& answer) {
  if (!answer) return answer.error();
  if (answer->starts_with('+')) return answer->substr(1);
  return Error{Error::Kind::kUnavailable, answer->substr(1)};
}

struct FreeInterfaces {
  void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};

std::string numeric_address(const sockaddr* address) {
  const socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::array<char, NI_MAXHOST> text{};
  const int code =
      ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return code == 0 ? text.data() : "";
}

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
    const sockaddr* address = each->ifa_addr;
    if (address != nullptr && (address->sa_family == AF_INET || address->sa_family == AF_INET6))
      found->addresses.push_back(numeric_address(address));
  }
  return interfaces;
}

// --- asked in processes of their own ---

class Questions {
 public:
  Questions(const DoctorWish& wish, const Surroundings& surroundings, NodeReading& reading)
      : wish_{wish}, surroundings_{surroundings}, reading_{reading} {}

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
    for (auto& [child, take] : asked_) take(child.answer());
  }

  bool gpus_are_late() const { return gpus_are_late_; }

 private:
  using Take = std::function<void(Result<std::string>)>;

  void add(AskedChild child, Take take) { asked_.emplace_back(std::move(child), std::move(take)); }

  void ask_folders() {
    const auto temporary = surroundings_.environment("TMPDIR");
    ask_folder("temporary files", temporary && !temporary->empty() ? *temporary : "/tmp");
    if (!wish_.log_dir.empty()) ask_folder("logs", wish_.log_dir);
    if (!wish_.checkpoint_dir.empty()) ask_folder("checkpoints", wish_.checkpoint_dir);
  }

  void ask_gpus(std::chrono::milliseconds timeout) {
    if (!reading_.gpus && ::access("/dev/nvidiactl", F_OK) != 0) return;
    // To open a device file wakes the GPU up, so the process that asks the driver does it.
    auto child = AskedChild::start(timeout, [] {
      GpusReading gpus;
      if (const int present = openable_gpus(); present > 0) {
        gpus = ask_gpu_driver(kNvmlLibrary);
        gpus.present = present;
      } else {
        gpus.present = 0;
      }
      return to_line(gpus);
    });
    add(std::move(child), [this](Result<std::string> answer) {
      gpus_are_late_ = !answer && answer.error().kind == Error::Kind::kTimeout;
      const auto on_bus = reading_.gpus ? reading_.gpus->on_bus : std::nullopt;
      auto gpus = answer ? parse_gpus(*answer) : Result<GpusReading>{answer.error()};
      reading_.gpus = gpus ? std::move(*gpus) : GpusReading{.error = gpus.error().message};
      reading_.gpus->on_bus = on_bus;
    });
  }

  void ask_python() {
    reading_.python.emplace();
    AskedChild search =
        AskedChild::start(kFindTimeout, [this] { return found(find_python(surroundings_)); });
    const auto path = what_was_found(search.answer());
    if (!path) {
      reading_.python->error = path.error().message;
      return;
    }
    reading_.python->path = *path;
    std::vector<std::string> words{*path, "-c", kSurvey};
    if (reading_.script && reading_.script->error.empty()) words.push_back(wish_.script);
    add(AskedChild::run(kPythonTimeout, words), [this](Result<std::string> answer) {
      auto told = answer ? parse_python(*answer) : Result<PythonAnswer>{answer.error()};
      if (!told) {
        reading_.python->error = reading_.python->path + " does not run: " + told.error().message;
        return;
      }
      reading_.python = std::move(told->python);
      reading_.python->doubt = environment_in_doubt(surroundings_.environment);
      if (reading_.script) reading_.script->missing_modules = std::move(told->missing_modules);
    });
  }

  /// Python is asked what a script needs only where the script can be read.
  void ask_script() {
    if (wish_.script.empty()) return;
    reading_.script = ScriptReading{.path = wish_.script};
    AskedChild child = AskedChild::start(kScriptTimeout, [this] {
      ScriptReading script{.path = wish_.script};
      try {  // an error names the folder, too
        script.sha256 = sdk::sha256_of_file(std::filesystem::absolute(wish_.script));
        script.foreign = foreign_script(wish_.script, surroundings_);
      } catch (const std::exception& e) {
        script.error = e.what();
      }
      return to_line(script);
    });
    const auto answer = child.answer();
    auto script = answer ? parse_script(*answer) : Result<ScriptReading>{answer.error()};
    if (script)
      reading_.script = std::move(*script);
    else
      reading_.script->error = script.error().message;
  }

  void ask_names() {
    const std::string address = first_address(reading_);
    ask_lookup(reading_.names.own_name, reading_.node, look_up_name);
    if (!address.empty()) ask_lookup(reading_.names.own_address, address, look_up_address);
    const auto servers = name_servers_in(text_if_any("/etc/resolv.conf"));
    if (servers.empty()) return;
    auto child = AskedChild::start(kNameServersTimeout, [&servers] {
      return to_line(NamesReading{.servers = ask_name_servers(servers)});
    });
    add(std::move(child), [this](Result<std::string> answer) {
      if (!answer) return;
      if (auto names = parse_names(*answer)) reading_.names.servers = std::move(names->servers);
    });
  }

  void ask_lookup(std::optional<LookupReading>& lookup, const std::string& question,
                  LookupReading (*look_up)(const std::string&)) {
    lookup = LookupReading{.question = question};  // without a time: it has not answered
    auto child = AskedChild::start(kLookupTimeout, [&] { return to_line(look_up(question)); });
    add(std::move(child), [&lookup](Result<std::string> answer) {
      if (!answer) return;
      if (auto found = parse_lookup(*answer)) lookup = std::move(*found);
    });
  }

  void ask_folder(const std::string& role, const std::string& path) {
    const std::size_t place = reading_.folders.size();
    reading_.folders.push_back({.role = role, .path = path});
    auto child =
        AskedChild::start(kFolderTimeout, [&] { return to_line(probe_folder(role, path)); });
    add(std::move(child), [this, place](Result<std::string> answer) {
      FolderReading& folder = reading_.folders[place];
      auto found = answer ? parse_folder(*answer) : Result<FolderReading>{answer.error()};
      if (found)
        folder = std::move(*found);
      else
        folder.error = fmt::format("{}: {}", found.error().message, kIsItThere);
    });
  }

  const DoctorWish& wish_;
  const Surroundings& surroundings_;
  NodeReading& reading_;
  bool gpus_are_late_ = false;
  std::vector<std::pair<AskedChild, Take>> asked_;
};

}  // namespace

NodeReading read_this_node(const DoctorWish& wish, const Surroundings& surroundings) {
  NodeReading reading{.node = host_name(), .ddprun = DDPRUN_VERSION};
  const ProcessesLook before = look_at_processes("/");
  const TimePoint looked = Clock::now();
  read_kernel_files("/", reading);
  reading.interfaces = read_interfaces();
  Questions questions{wish, surroundings, reading};
  questions.ask();
  read_own_limits(reading.limits);
  read_shm(reading.memory);
  const std::vector<int> cpus = allowed_cpus();
  if (!cpus.empty()) reading.cpus.usable = static_cast<int>(cpus.size());
  reading.nccl_interfaces = surroundings.environment("NCCL_SOCKET_IFNAME").value_or("");
  reading.gloo_interfaces = surroundings.environment("GLOO_SOCKET_IFNAME").value_or("");
  questions.take_answers();
  std::this_thread::sleep_until(looked + kBetweenLooks);
  reading.cpus.busy = busy_processes(before, look_at_processes("/"), cpus);
  return reading;
}

FitnessReading read_for_fitness(const std::string& log_dir, const std::vector<std::string>& folders,
                                const Surroundings& surroundings) {
  FitnessReading reading{.node = {.node = host_name()}};
  const DoctorWish wish{.log_dir = log_dir};
  Questions questions{wish, surroundings, reading.node};
  questions.ask_for_fitness(folders);
  questions.take_answers();
  reading.gpus_are_late = questions.gpus_are_late();
  if (reading.gpus_are_late) reading.node.gpus.reset();
  return reading;
}

}  // namespace ddprun
