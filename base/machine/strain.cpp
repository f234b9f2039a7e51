#include "base/machine/strain.hpp"

#include <algorithm>

#include "base/numbers.hpp"

namespace ddprun {

namespace {

double growth(std::int64_t before, std::int64_t after) {
  return static_cast<double>(std::max<std::int64_t>(after - before, 0));
}

std::optional<double> growth(const Strain::Time& before, const Strain::Time& after) {
  if (!before || !after) return std::nullopt;
  return growth(before->count(), after->count());
}

}  // namespace

StrainRates strain_rates(const Strain& before, const Strain& after,
                         std::chrono::microseconds period) {
  const auto us = static_cast<double>(std::max<std::int64_t>(period.count(), 1));
  const auto rate = [&](Strain::Time Strain::*total) {
    auto all = growth(before.*total, after.*total);
    if (all) *all /= us;
    return all;
  };
  const auto share = [&](Strain::Time Strain::*total) {
    const auto all = rate(total);
    return all ? std::optional{std::min(*all, 1.0)} : std::nullopt;
  };
  const auto a_second = [&](std::int64_t Strain::*total) {
    return growth(before.*total, after.*total) * 1e6 / us;
  };
  StrainRates rates{.cpus = after.cpus,
                    .ran = rate(&Strain::ran),
                    .queued = rate(&Strain::queued),
                    .throttled = rate(&Strain::throttled),
                    .quota_cpus = after.quota_cpus,
                    .stolen = rate(&Strain::stolen),
                    .cpu_pressure = share(&Strain::cpu_pressure),
                    .memory_pressure = share(&Strain::memory_pressure),
                    .io_pressure = share(&Strain::io_pressure),
                    .major_faults = a_second(&Strain::major_faults),
                    .swapped_bytes = after.swapped_bytes,
                    .mhz = after.mhz,
                    .mhz_max = after.mhz_max,
                    .connections = after.connections,
                    .retransmits = a_second(&Strain::retransmits),
                    .sending = share(&Strain::sending),
                    .round_trip_ms = static_cast<double>(after.round_trip.count()) / 1000,
                    .waited = std::nullopt};
  const double wanted = rate(&Strain::wanted).value_or(0);
  if (rates.stolen) rates.stolen = wanted > 0 ? std::min(*rates.stolen / wanted, 1.0) : 0;
  return rates;
}

/// "some avg10=0.00 avg60=0.00 avg300=0.00 total=17", and then a line for "full".
Strain::Time pressure_time(std::string_view text) {
  constexpr std::string_view kTotal = " total=";
  text = text.substr(0, text.find('\n'));
  const std::size_t total = text.find(kTotal);
  if (!text.starts_with("some ") || total == std::string_view::npos) return std::nullopt;
  const auto us = parse_number<std::int64_t>(text.substr(total + kTotal.size()));
  return us ? Strain::Time{std::chrono::microseconds{*us}} : std::nullopt;
}

std::optional<std::uint32_t> socket_inode(std::string_view link) {
  constexpr std::string_view kBegin = "socket:[";
  if (!link.starts_with(kBegin) || !link.ends_with(']')) return std::nullopt;
  link.remove_prefix(kBegin.size());
  link.remove_suffix(1);
  return parse_number<std::uint32_t>(link);
}

}  // namespace ddprun
