#include "launcher/topology/nvml.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/process/query_process.hpp"
#include "launcher/topology/driver_facts.hpp"

namespace ddprun {

namespace {

bool ends_at_switch(const NvmlLibrary& driver, NvmlGpu gpu, unsigned link,
                    const std::vector<std::string>& gpus, const std::string& peer) {
  unsigned type = 0;
  if (driver.ask(nvml::kLinkPeerType, gpu, link, &type)) return type == kNvlinkToSwitch;
  return std::ranges::find(gpus, peer) == gpus.end();  // a driver that does not tell types
}

/// `gpus` are the bus ids of all of them.
void add_links(const NvmlLibrary& driver, NvmlGpu gpu, const std::vector<std::string>& gpus,
               DriverGpu& facts) {
  for (unsigned link = 0; link < kNvlinksMax; ++link) {
    unsigned active = 0;
    NvmlPciInfo info{};
    if (!driver.ask(nvml::kLinkState, gpu, link, &active) || active == 0) continue;
    if (!driver.ask(nvml::kLinkPeer, gpu, link, &info)) continue;
    std::string peer = bus_id_of(info);
    if (ends_at_switch(driver, gpu, link, gpus, peer))
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
Result<DriverFacts> ask(const NvmlLibrary& driver) {
  const auto listed = driver.gpus();
  if (!listed) return listed.error();
  std::vector<NvmlGpu> gpus;
  std::vector<std::string> bus_ids;
  DriverFacts facts;
  for (const NvmlListed& one : *listed) {
    if (one.bus_id.empty()) continue;  // the kernel's files tell that it is there
    gpus.push_back(one.gpu);
    bus_ids.push_back(one.bus_id);
    facts.gpus.push_back({.bus_id = one.bus_id, .model = one.model});
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    add_links(driver, gpus[i], bus_ids, facts.gpus[i]);
    for (std::size_t j = i + 1; j < gpus.size(); ++j) {
      unsigned level = 0;
      if (!driver.ask(nvml::kCommonAncestor, gpus[i], gpus[j], &level)) continue;
      if (const auto way = way_of(level)) facts.ways[gpu_pair(bus_ids[i], bus_ids[j])] = *way;
    }
  }
  return facts;
}

}  // namespace

Result<DriverFacts> ask_nvml(const std::string& library) {
  const auto driver = NvmlLibrary::open(library);
  return driver ? ask(*driver) : driver.error();
}

Result<DriverFacts> ask_nvml_within(std::chrono::milliseconds timeout, const std::string& library) {
  auto child = QueryProcess::start(timeout, [&] { return to_text(ask_nvml(library)); });
  if (!child.started())
    return Error{Error::Kind::kUnavailable, "no process could be started to ask it"};
  const auto text = child.answer(kDriverTextBytesMax);
  if (!text && text.error().kind == Error::Kind::kTimeout)
    return Error{Error::Kind::kTimeout,
                 "it has not answered within " + std::to_string(timeout.count() / 1000) + " s"};
  return parse_driver_facts(text ? *text : std::string{});
}

}  // namespace ddprun
