// The names of what is in a reading, in JSON. Pure.
#pragma once

#include "base/json/json_fields.hpp"
#include "base/machine/gpu_fields.hpp"
#include "launcher/doctor/read/reading.hpp"

namespace ddprun::fields {

// clang-format off
template <> inline constexpr auto kFields<LimitsReading> = table(
    some<&LimitsReading::open_files>("open_files"),
    some<&LimitsReading::open_files_hard>("open_files_hard"),
    some<&LimitsReading::processes>("processes"),
    some<&LimitsReading::locked_bytes>("locked_bytes"),
    some<&LimitsReading::cgroup_tasks_max>("cgroup_tasks_max"),
    some<&LimitsReading::cgroup_tasks>("cgroup_tasks"),
    some<&LimitsReading::locks_all_memory>("locks_all_memory"),
    some<&LimitsReading::may_exceed_processes>("may_exceed_processes"));
template <> inline constexpr auto kFields<MemoryReading> = table(
    some<&MemoryReading::total_bytes>("total_bytes"),
    some<&MemoryReading::available_bytes>("available_bytes"),
    some<&MemoryReading::cgroup_max_bytes>("cgroup_max_bytes"),
    some<&MemoryReading::cgroup_used_bytes>("cgroup_used_bytes"),
    some<&MemoryReading::shm_bytes>("shm_bytes"),
    some<&MemoryReading::shm_free_bytes>("shm_free_bytes"),
    some<&MemoryReading::transparent_huge_pages>("transparent_huge_pages"));
template <> inline constexpr auto kFields<BusyProcess> = table(
    some<&BusyProcess::pid>("pid"), some<&BusyProcess::name>("name"),
    some<&BusyProcess::cpus>("cpus"));
template <> inline constexpr auto kFields<CpusReading> = table(
    some<&CpusReading::online>("online"), some<&CpusReading::usable>("usable"),
    some<&CpusReading::quota>("quota"), some<&CpusReading::numa_nodes>("numa_nodes"),
    some<&CpusReading::busy>("busy"));
template <> inline constexpr auto kFields<FolderReading> = table(
    some<&FolderReading::role>("role"), some<&FolderReading::path>("path"),
    some<&FolderReading::error>("error"), some<&FolderReading::error_number>("errno"),
    some<&FolderReading::tried>("tried"), some<&FolderReading::file_system>("file_system"),
    some<&FolderReading::total_bytes>("total_bytes"),
    some<&FolderReading::free_bytes>("free_bytes"), some<&FolderReading::free_files>("free_files"),
    some<&FolderReading::write_ms>("write_ms"));
template <> inline constexpr auto kFields<CheckpointsReading> = table(
    some<&CheckpointsReading::newest>("newest"),
    some<&CheckpointsReading::last_bytes>("last_bytes"),
    some<&CheckpointsReading::save_bytes>("save_bytes"));
template <> inline constexpr auto kFields<LookupReading> = table(
    some<&LookupReading::question>("question"), some<&LookupReading::answers>("answers"),
    some<&LookupReading::error>("error"), some<&LookupReading::ms>("ms"));
template <> inline constexpr auto kFields<NameServerReading> = table(
    some<&NameServerReading::address>("address"),
    some<&NameServerReading::answer_ms>("answer_ms"));
template <> inline constexpr auto kFields<NamesReading> = table(
    some<&NamesReading::own_name>("own_name"), some<&NamesReading::own_address>("own_address"),
    some<&NamesReading::servers>("servers"));
template <> inline constexpr auto kFields<PythonReading> = table(
    some<&PythonReading::path>("path"), some<&PythonReading::doubt>("doubt"),
    some<&PythonReading::error>("error"),
    some<&PythonReading::version>("version"), some<&PythonReading::torch>("torch"),
    some<&PythonReading::cuda>("cuda"), some<&PythonReading::nccl>("nccl"));
template <> inline constexpr auto kFields<ScriptReading> = table(
    some<&ScriptReading::path>("path"), some<&ScriptReading::error>("error"),
    some<&ScriptReading::foreign>("foreign"), some<&ScriptReading::sha256>("sha256"),
    some<&ScriptReading::missing_modules>("missing_modules"));
template <> inline constexpr auto kFields<InterfaceReading> = table(
    some<&InterfaceReading::name>("name"), some<&InterfaceReading::addresses>("addresses"),
    some<&InterfaceReading::mtu>("mtu"), some<&InterfaceReading::up>("up"),
    some<&InterfaceReading::loopback>("loopback"));
template <> inline constexpr auto kFields<InfinibandReading> = table(
    some<&InfinibandReading::device>("device"), some<&InfinibandReading::port>("port"),
    some<&InfinibandReading::state>("state"), some<&InfinibandReading::link_layer>("link_layer"),
    some<&InfinibandReading::rate>("rate"));
template <> inline constexpr auto kFields<LinkReading> = table(
    some<&LinkReading::node>("node"), some<&LinkReading::use>("use"),
    some<&LinkReading::address>("address"), some<&LinkReading::error>("error"),
    some<&LinkReading::ms>("ms"), some<&LinkReading::rtt_ms>("rtt_ms"),
    some<&LinkReading::small_only>("small_only"), some<&LinkReading::interface>("interface"),
    some<&LinkReading::mtu>("mtu"));
template <> inline constexpr auto kFields<PeerNameReading> = table(
    some<&PeerNameReading::node>("node"), some<&PeerNameReading::lookup>("lookup"));
template <> inline constexpr auto kFields<PeersReading> = table(
    some<&PeersReading::shares_with>("shares_with"),
    some<&PeersReading::shares_logs_with>("shares_logs_with"), some<&PeersReading::links>("links"),
    some<&PeersReading::peer_names>("peer_names"));
template <> inline constexpr auto kFields<NodeReading> = table(
    some<&NodeReading::node>("node"), some<&NodeReading::ddprun>("ddprun"),
    some<&NodeReading::kernel>("kernel"), some<&NodeReading::limits>("limits"),
    some<&NodeReading::memory>("memory"), some<&NodeReading::cpus>("cpus"),
    some<&NodeReading::folders>("folders"), some<&NodeReading::checkpoints>("checkpoints"),
    some<&NodeReading::names>("names"),
    some<&NodeReading::python>("python"), some<&NodeReading::script>("script"),
    some<&NodeReading::gpus>("gpus"), some<&NodeReading::interfaces>("interfaces"),
    some<&NodeReading::infiniband>("infiniband"),
    some<&NodeReading::nccl_interfaces>("nccl_interfaces"),
    some<&NodeReading::gloo_interfaces>("gloo_interfaces"),
    some<&NodeReading::clock_offset_ms>("clock_offset_ms"),
    some<&NodeReading::clock_doubt_ms>("clock_doubt_ms"), inlined<&NodeReading::peers>());
// clang-format on

}  // namespace ddprun::fields
