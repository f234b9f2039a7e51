// How what NVIDIA's driver tells goes through a pipe between two processes of ddprun, and stands in
// a reading of a node: its names in JSON. Pure.
#pragma once

#include "base/json/json_fields.hpp"
#include "base/machine/gpu_driver.hpp"

namespace ddprun::fields {

// clang-format off
template <> inline constexpr auto kFields<GpuProcess> = table(
    some<&GpuProcess::pid>("pid"), some<&GpuProcess::name>("name"),
    some<&GpuProcess::bytes>("bytes"));
template <> inline constexpr auto kFields<GpuReading> = table(
    some<&GpuReading::index>("index"), some<&GpuReading::bus_id>("bus_id"),
    some<&GpuReading::model>("model"), some<&GpuReading::memory_bytes>("memory_bytes"),
    some<&GpuReading::used_bytes>("used_bytes"), some<&GpuReading::processes>("processes"),
    some<&GpuReading::persistent>("persistent"), some<&GpuReading::ecc>("ecc"),
    some<&GpuReading::uncorrected_errors>("uncorrected_errors"),
    some<&GpuReading::repair_pending>("repair_pending"),
    some<&GpuReading::repair_failed>("repair_failed"), some<&GpuReading::throttled>("throttled"),
    some<&GpuReading::celsius>("celsius"), some<&GpuReading::nvlinks>("nvlinks"),
    some<&GpuReading::nvlinks_active>("nvlinks_active"), some<&GpuReading::nvswitch>("nvswitch"),
    some<&GpuReading::links_to_switches>("links_to_switches"),
    some<&GpuReading::peers>("peers"));
template <> inline constexpr auto kFields<GpuWay> = table(
    some<&GpuWay::first>("first"), some<&GpuWay::second>("second"), some<&GpuWay::way>("way"));
template <> inline constexpr auto kFields<GpusReading> = table(
    some<&GpusReading::on_bus>("on_bus"), some<&GpusReading::present>("present"),
    some<&GpusReading::driver>("driver"), some<&GpusReading::cuda>("cuda"),
    some<&GpusReading::error>("error"), some<&GpusReading::gpus>("gpus"),
    some<&GpusReading::ways>("ways"));
// clang-format on

}  // namespace ddprun::fields
