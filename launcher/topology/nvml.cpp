#include "launcher/topology/nvml.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/system/asked_child.hpp"
#include "launcher/topology/driver_facts_text.hpp"

namespace ddprun {

namespace {

using Gpu = void*;  // nvmlDevice_t
constexpr int kSuccess = 0;
constexpr unsigned kGpusMax = 64;
constexpr unsigned kLinksMax = 64;  // NVML_NVLINK_MAX_LINKS is 36 with the newest headers
constexpr unsigned kLinkToSwitch = 2;

/// nvmlPciInfo_t
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

struct Unload {
  void operator()(void* library) const { ::dlclose(library); }
};
using Library = std::unique_ptr<void, Unload>;

/// The functions that are asked. Those that older drivers lack may be null.
struct Nvml {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Gpu*) = nullptr;
  int (*pci_info)(Gpu, PciInfo*) = nullptr;
  int (*name)(Gpu, char*, unsigned) = nullptr;
  int (*common_ancestor)(Gpu, Gpu, unsigned*) = nullptr;
  int (*link_state)(Gpu, unsigned, unsigned*) = nullptr;
  int (*link_peer)(Gpu, unsigned, PciInfo*) = nullptr;
  int (*link_peer_type)(Gpu, unsigned, unsigned*) = nullptr;
};

template <typename Function>
void find(void* library, const char* name, Function& function) {
  void* const address = ::dlsym(library, name);
  static_assert(sizeof address == sizeof function);
  std::memcpy(&function, &address, sizeof function);
}

Result<Nvml> find_functions(void* library) {
  Nvml nvml;
  find(library, "nvmlInit_v2", nvml.init);
  find(library, "nvmlShutdown", nvml.shutdown);
  find(library, "nvmlErrorString", nvml.error_text);
  find(library, "nvmlDeviceGetCount_v2", nvml.count);
  find(library, "nvmlDeviceGetHandleByIndex_v2", nvml.by_index);
  find(library, "nvmlDeviceGetPciInfo_v3", nvml.pci_info);
  find(library, "nvmlDeviceGetName", nvml.name);
  find(library, "nvmlDeviceGetTopologyCommonAncestor", nvml.common_ancestor);
  find(library, "nvmlDeviceGetNvLinkState", nvml.link_state);
  find(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", nvml.link_peer);
  find(library, "nvmlDeviceGetNvLinkRemoteDeviceType", nvml.link_peer_type);
  if (!nvml.init || !nvml.shutdown || !nvml.error_text || !nvml.count || !nvml.by_index ||
      !nvml.pci_info || !nvml.name)
    return Error{Error::Kind::kNotFound, "NVML lacks a function: the driver is too old"};
  return nvml;
}

template <std::size_t N>
std::string text_of(const std::array<char, N>& characters) {
  return {characters.data(), ::strnlen(characters.data(), N)};
}

std::string bus_id_of(const PciInfo& info) {
  return plain_bus_id({info.bus_id, ::strnlen(info.bus_id, sizeof info.bus_id)});
}

bool ends_at_switch(const Nvml& nvml, Gpu gpu, unsigned link, const std::vector<std::string>& gpus,
                    const std::string& peer) {
  unsigned type = 0;
  if (nvml.link_peer_type && nvml.link_peer_type(gpu, link, &type) == kSuccess)
    return type == kLinkToSwitch;
  return std::ranges::find(gpus, peer) == gpus.end();  // a driver that does not tell types
}

/// `gpus` are the bus ids of all of them.
void add_links(const Nvml& nvml, Gpu gpu, const std::vector<std::string>& gpus, DriverGpu& facts) {
  if (!nvml.link_state || !nvml.link_peer) return;
  for (unsigned link = 0; link < kLinksMax; ++link) {
    unsigned active = 0;
    PciInfo info{};
    if (nvml.link_state(gpu, link, &active) != kSuccess || active == 0) continue;
    if (nvml.link_peer(gpu, link, &info) != kSuccess) continue;
    std::string peer = bus_id_of(info);
    if (ends_at_switch(nvml, gpu, link, gpus, peer))
      ++facts.links_to_switches;
    else
      facts.peers.push_back(std::move(peer));
  }
}

std::optional<Way> way_of(unsigned level) {
  switch (level) {  // nvmlGpuTopologyLevel_t
    case 0:         // on one board
    case 10:
      return Way::kPix;
    case 20:
      return Way::kPxb;
    case 30:
      return Way::kPhb;
    case 40:
      return Way::kNode;
    case 50:
      return Way::kSystem;
    default:
      return std::nullopt;
  }
}

/// Asks a library that has been initialised.
Result<DriverFacts> ask(const Nvml& nvml) {
  unsigned count = 0;
  if (const int code = nvml.count(&count); code != kSuccess)
    return Error{Error::Kind::kUnavailable, nvml.error_text(code)};
  std::vector<Gpu> gpus;
  std::vector<std::string> bus_ids;
  DriverFacts facts;
  for (unsigned index = 0; index < std::min(count, kGpusMax); ++index) {
    Gpu gpu = nullptr;  // one that is ill is left out: the kernel's files tell that it is there
    PciInfo info{};
    std::array<char, 96> name{};
    if (nvml.by_index(index, &gpu) != kSuccess || nvml.pci_info(gpu, &info) != kSuccess) continue;
    if (nvml.name(gpu, name.data(), name.size()) != kSuccess) name = {};
    gpus.push_back(gpu);
    bus_ids.push_back(bus_id_of(info));
    facts.gpus.push_back({.bus_id = bus_ids.back(), .model = text_of(name)});
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    add_links(nvml, gpus[i], bus_ids, facts.gpus[i]);
    for (std::size_t j = i + 1; j < gpus.size() && nvml.common_ancestor; ++j) {
      unsigned level = 0;
      if (nvml.common_ancestor(gpus[i], gpus[j], &level) != kSuccess) continue;
      if (const auto way = way_of(level)) facts.ways[gpu_pair(bus_ids[i], bus_ids[j])] = *way;
    }
  }
  return facts;
}

}  // namespace

Result<DriverFacts> ask_nvml(const std::string& library) {
  const Library loaded{::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)};
  if (!loaded) return Error{Error::Kind::kNotFound, ::dlerror()};
  const auto nvml = find_functions(loaded.get());
  if (!nvml) return nvml.error();
  if (const int code = nvml->init(); code != kSuccess)
    return Error{Error::Kind::kUnavailable, nvml->error_text(code)};
  auto facts = ask(*nvml);
  nvml->shutdown();
  return facts;
}

Result<DriverFacts> ask_nvml_within(std::chrono::milliseconds timeout, const std::string& library) {
  auto child = AskedChild::start(timeout, [&] { return to_text(ask_nvml(library)); });
  if (!child.started())
    return Error{Error::Kind::kUnavailable, "no process could be started to ask it"};
  const auto text = child.answer(kDriverTextBytesMax);
  if (!text && text.error().kind == Error::Kind::kTimeout)
    return Error{Error::Kind::kTimeout,
                 "it has not answered within " + std::to_string(timeout.count() / 1000) + " s"};
  return parse_driver_facts(text ? *text : std::string{});
}

}  // namespace ddprun
