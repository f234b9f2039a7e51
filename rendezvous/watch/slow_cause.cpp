#include "rendezvous/watch/slow_cause.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/number_text.hpp"
#include "base/numbers.hpp"

namespace ddprun {

namespace {

using Share = std::optional<double>;

/// Steps of equal ranks differ by some percent. What costs less than this makes no rank slow.
constexpr double kShareMin = 0.1;
/// The kernel counts one loss in several places, with small differences. One of this part of the
/// greatest may be what the greatest one comes from.
constexpr double kNearlyAsMuch = 0.7;
/// A rank that uses so much of its CPUs could use more of them, and nobody else has them.
constexpr double kUsesAll = 0.9;
/// A page comes from an SSD in 0.1 ms, and from a network or a hard disk in 10 ms. It counts only
/// where the kernel does not tell how long tasks wait for memory.
constexpr double kPageSeconds = 0.0005;
/// A figure stands out that is this many times the others': no network is equal for all ranks.
constexpr double kTimesOthers = 4;
/// TCP sends some segments again in any network with full queues. This many a second are more.
constexpr double kRetransmitsMin = 10;
/// Round trips in a data center take less than 1 ms, also through queues.
constexpr double kRoundTripMsMin = 5;
/// All ranks but the slow one wait for it, so they compute a little less anyway. Where it is not
/// known how long they waited, it has to be clearly more.
constexpr double kMoreCpusMin = 0.25;
/// A rank that is the last one everywhere still waits while it communicates, which may take this
/// share of its time. Where it is known how long that took, kShareMin is enough.
constexpr double kIdleMin = 0.5;

struct Candidate {
  SlowBecause because;
  double excess;  // share of the time
  std::string sentence;
};

std::string percent(double share) { return fmt::format("{:.0f} %", share * 100); }

/// `text` has {} for the rank's figure, and `text_of_others` for theirs, if it is known.
std::string compared(std::string_view text, double share, std::string_view text_of_others,
                     Share others) {
  std::string sentence = fmt::format(fmt::runtime(text), percent(share));
  if (others) sentence += fmt::format(fmt::runtime(text_of_others), percent(*others));
  return sentence;
}

double excess(Share slow, Share others) { return slow.value_or(0) - others.value_or(0); }

/// The share of the time that is lost, of threads that lose and have these CPU seconds a second.
/// Several of them at once lose the same time.
double lost_share(double lost, double had) { return lost / std::max(1.0, lost + had); }

Share throttled_share(const StrainRates& rank) {
  // A cgroup that is throttled has just used up its quota.
  return rank.throttled ? Share{lost_share(*rank.throttled, rank.quota_cpus)} : std::nullopt;
}

Share stolen_share(const StrainRates& rank) {
  if (!rank.stolen) return std::nullopt;
  constexpr double kMax = 0.99;
  const double share = std::min(*rank.stolen, kMax), ran = rank.ran.value_or(1);
  return lost_share(ran * share / (1 - share), ran);
}

/// Threads that are throttled count as ready in some kernels.
Share queued_share(const StrainRates& rank) {
  if (!rank.queued) return rank.cpu_pressure;
  const double unthrottled = std::max(*rank.queued - rank.throttled.value_or(0), 0.0);
  return lost_share(unthrottled, rank.ran.value_or(0));
}

Share memory_share(const StrainRates& rank) {
  return rank.memory_pressure.value_or(std::min(rank.major_faults * kPageSeconds, 1.0));
}

Candidate throttled(const StrainRates& slow, const StrainRates& others) {
  const Share own = throttled_share(slow), theirs = throttled_share(others);
  std::string sentence = compared("its cgroup was throttled for {} of the time", own.value_or(0),
                                  ", those of the others for {}", theirs);
  if (slow.quota_cpus > 0)
    sentence += fmt::format(": its quota is worth {:.3g} CPUs (cpu.max)", slow.quota_cpus);
  return {SlowBecause::kThrottled, excess(own, theirs), std::move(sentence)};
}

Candidate stolen(const StrainRates& slow, const StrainRates& others) {
  return {SlowBecause::kStolen, excess(stolen_share(slow), stolen_share(others)),
          compared("other guests of its host had {} of the CPU time that its machine wanted",
                   slow.stolen.value_or(0), ", and {} of that of the others", others.stolen)};
}

Candidate fewer_cpus(const StrainRates& slow, const StrainRates& others) {
  const bool fewer = slow.cpus > 0 && slow.cpus < others.cpus;
  const bool uses_all = slow.ran.value_or(0) >= kUsesAll * slow.cpus;
  return {SlowBecause::kFewerCpus,
          fewer && uses_all ? 1 - static_cast<double>(slow.cpus) / others.cpus : 0,
          fmt::format("it may run on {}, which it used all the time, the others on {}",
                      counted(slow.cpus, "CPU"), others.cpus)};
}

Candidate queued(const StrainRates& slow, const StrainRates& others) {
  const Share own = queued_share(slow), theirs = queued_share(others);
  return {
      SlowBecause::kQueued, excess(own, theirs),
      compared(slow.queued ? "it was ready to run and had no CPU for {} of the time"
                           : "where it runs, tasks were ready and had no CPU for {} of the time",
               own.value_or(0), ", the others for {}", theirs)};
}

Candidate memory(const StrainRates& slow, const StrainRates& others) {
  const Share own = memory_share(slow), theirs = memory_share(others);
  std::string sentence =
      slow.memory_pressure
          ? compared("where it runs, tasks waited for memory for {} of the time", *own,
                     ", where the others run for {}", theirs)
          : fmt::format("it waited for {:.0f} pages a second from a disk, the others for {:.0f}",
                        slow.major_faults, others.major_faults);
  if (slow.swapped_bytes > 0)
    sentence += "; " + bytes_text(slow.swapped_bytes) + " are swapped out";
  return {SlowBecause::kMemory, excess(own, theirs), std::move(sentence)};
}

Candidate disk(const StrainRates& slow, const StrainRates& others) {
  return {
      SlowBecause::kDisk, excess(slow.io_pressure, others.io_pressure),
      compared("where it runs, tasks waited for a disk for {} of the time",
               slow.io_pressure.value_or(0), ", where the others run for {}", others.io_pressure)};
}

/// A slow clock costs time only while the rank runs, and while it sleeps every clock is slow.
Candidate slower_clock(const StrainRates& slow, const StrainRates& others) {
  const bool known = slow.mhz > 0 && others.mhz > 0;
  std::string sentence = fmt::format("its CPU ran at {:.0f} MHz", slow.mhz);
  if (slow.mhz_max > 0) sentence += fmt::format(" of {:.0f}", slow.mhz_max);
  sentence += fmt::format(", those of the others at {:.0f}", others.mhz);
  return {SlowBecause::kSlowerClock,
          known ? (1 - slow.mhz / others.mhz) * std::min(slow.ran.value_or(1), 1.0) : 0,
          std::move(sentence)};
}

bool stands_out(double slow, double others, double least) {
  return slow >= std::max(least, kTimesOthers * others);
}

bool is_far(const StrainRates& slow, const StrainRates& others) {
  return stands_out(slow.round_trip_ms, others.round_trip_ms, kRoundTripMsMin);
}

Candidate network(const StrainRates& slow, const StrainRates& others) {
  return {SlowBecause::kNetwork, network_excess(slow, others), network_sentence(slow, others)};
}

SlowCause more_work(const StrainRates& slow, const StrainRates& others) {
  if (!slow.ran || !others.ran) return {};
  const double more = *slow.ran - *others.ran;
  if (slow.waited && others.waited) {
    const double late = *others.waited - *slow.waited;
    if (late < kShareMin || more < kNearlyAsMuch * late) return {};
  } else if (more < kMoreCpusMin) {
    return {};
  }
  return {SlowBecause::kMoreWork,
          fmt::format("it used {:.2f} CPUs, the others {:.2f}, and nothing kept it from them: it "
                      "has more to compute, or computes more slowly",
                      *slow.ran, *others.ran)};
}

/// The others may sleep as long: they wait for this rank.
SlowCause waits_outside(const StrainRates& slow, const std::string& sleeps) {
  const Share idle = idle_share(slow);
  if (!idle || *idle < (slow.waited ? kShareMin : kIdleMin)) return {};
  return {SlowBecause::kWaitsOutside,
          fmt::format("for {} of the time it neither ran nor was ready to run{}: {}",
                      percent(*idle), slow.waited ? ", nor waited for other ranks" : "",
                      sleeps.empty() ? "it slept, or waited for data or a device" : sleeps)};
}

/// Takes the known figures of all ranks into the median's field. `zero_is_known`: for a count that
/// may be 0.
template <typename Field>
void take_median(const std::vector<StrainRates>& ranks, Field StrainRates::*field,
                 StrainRates& median_rank, bool zero_is_known) {
  std::vector<double> known;
  for (const StrainRates& rank : ranks)
    if (zero_is_known || rank.*field != Field{}) known.push_back(static_cast<double>(rank.*field));
  median_rank.*field = static_cast<Field>(median(std::move(known)));
}

void take_median(const std::vector<StrainRates>& ranks, Share StrainRates::*field,
                 StrainRates& median_rank) {
  std::vector<double> known;
  for (const StrainRates& rank : ranks)
    if (rank.*field) known.push_back(*(rank.*field));
  if (!known.empty()) median_rank.*field = median(std::move(known));
}

}  // namespace

double network_excess(const StrainRates& slow, const StrainRates& others) {
  if (!slow.sending) return 0;
  // What others send to a far rank is in flight for as long, so that they do not differ by that.
  return is_far(slow, others) ? *slow.sending : excess(slow.sending, others.sending);
}

std::string network_sentence(const StrainRates& slow, const StrainRates& others) {
  std::string sentence =
      compared("what it sends was in flight for {} of the time", slow.sending.value_or(0),
               ", that of the others for {}", others.sending);
  if (is_far(slow, others))
    sentence += fmt::format("; a round trip takes {:.3g} ms, of the others' {:.3g} ms",
                            slow.round_trip_ms, others.round_trip_ms);
  if (stands_out(slow.retransmits, others.retransmits, kRetransmitsMin))
    sentence +=
        fmt::format("; {:.0f} segments a second had to be sent again, of the others' {:.0f}",
                    slow.retransmits, others.retransmits);
  return sentence;
}

Share idle_share(const StrainRates& rank) {
  if (!rank.ran) return std::nullopt;
  return 1 - *rank.ran - rank.queued.value_or(0) - rank.waited.value_or(0);
}

SlowCause why_slow(const StrainRates& slow, const StrainRates& others, const std::string& sleeps) {
  std::vector<Candidate> candidates;  // as SlowBecause has them
  for (const auto judge :
       {throttled, stolen, fewer_cpus, queued, memory, disk, slower_clock, network})
    candidates.push_back(judge(slow, others));
  const double most = std::ranges::max(candidates, {}, &Candidate::excess).excess;
  if (most >= kShareMin)
    for (Candidate& candidate : candidates)
      if (candidate.excess >= kNearlyAsMuch * most)
        return {candidate.because, std::move(candidate.sentence)};
  for (const SlowCause& cause : {more_work(slow, others), waits_outside(slow, sleeps)})
    if (cause.because != SlowBecause::kUnknown) return cause;
  return {};
}

StrainRates median_of(const std::vector<StrainRates>& ranks) {
  StrainRates found;
  for (const auto field :
       {&StrainRates::ran, &StrainRates::queued, &StrainRates::throttled, &StrainRates::stolen,
        &StrainRates::cpu_pressure, &StrainRates::memory_pressure, &StrainRates::io_pressure,
        &StrainRates::sending, &StrainRates::waited})
    take_median(ranks, field, found);
  for (const auto field : {&StrainRates::mhz, &StrainRates::mhz_max})
    take_median(ranks, field, found, /*zero_is_known=*/false);
  take_median(ranks, &StrainRates::cpus, found, /*zero_is_known=*/false);
  for (const auto field : {&StrainRates::quota_cpus, &StrainRates::major_faults,
                           &StrainRates::retransmits, &StrainRates::round_trip_ms})
    take_median(ranks, field, found, /*zero_is_known=*/true);
  take_median(ranks, &StrainRates::connections, found, /*zero_is_known=*/true);
  take_median(ranks, &StrainRates::swapped_bytes, found, /*zero_is_known=*/true);
  return found;
}

}  // namespace ddprun
