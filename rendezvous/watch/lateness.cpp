#include "rendezvous/watch/lateness.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace ddprun {

namespace {

constexpr int kPartOfPause = 4;

/// When the ranks have entered one collective, in the order of the ranks.
using Column = std::vector<std::int64_t>;

/// The collectives that all ranks tell, the oldest first.
struct Common {
  std::int64_t first = 0;
  std::vector<Column> columns;
};

Common in_common(const std::map<int, ArrivalTimes>& arrivals) {
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  for (const auto& [rank, times] : arrivals) {
    first = std::max(first, times.first);
    end = std::min(end, times.first + static_cast<std::int64_t>(times.at_us.size()));
  }
  if (end <= first) return {};
  Common common{first, std::vector(static_cast<std::size_t>(end - first), Column(arrivals.size()))};
  std::size_t row = 0;
  for (const auto& [rank, times] : arrivals) {
    auto at = times.at_us.begin() + (first - times.first);
    for (Column& column : common.columns) column[row] = *at++;
    ++row;
  }
  return common;
}

/// Collectives of which each was entered before all had reached the others.
struct Burst {
  std::size_t begin = 0, end = 0;  // columns
  std::int64_t at_us = 0;          // when the first rank came
};

std::vector<Burst> bursts_in(const std::vector<Column>& columns) {
  std::vector<Burst> bursts;
  std::int64_t latest = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto [earliest, last] = std::ranges::minmax(columns[i]);
    if (earliest >= latest) bursts.push_back({.begin = i, .end = i, .at_us = earliest});
    bursts.back().end = i + 1;
    latest = std::max(latest, last);
  }
  return bursts;
}

/// Half of the time lies in pauses that are as long as this one, or longer. A pause leads to a
/// burst from the one before it.
std::int64_t usual_pause(const std::vector<Burst>& bursts) {
  std::vector<std::int64_t> pauses;
  for (std::size_t i = 1; i < bursts.size(); ++i)
    pauses.push_back(bursts[i].at_us - bursts[i - 1].at_us);
  std::ranges::sort(pauses, std::ranges::greater{});
  std::int64_t left = bursts.empty() ? 0 : (bursts.back().at_us - bursts.front().at_us) / 2;
  for (const std::int64_t pause : pauses)
    if ((left -= pause) <= 0) return pause;
  return 0;
}

/// Where no rank is late, each of a step's collectives is a burst by itself. They are one step: a
/// step begins after a pause that is at least a part of the usual one.
std::vector<Burst> steps_in(const std::vector<Burst>& bursts) {
  const std::int64_t pause_min = usual_pause(bursts) / kPartOfPause;
  std::vector<Burst> steps;
  for (std::size_t i = 0; i < bursts.size(); ++i) {
    if (i == 0 || bursts[i].at_us - bursts[i - 1].at_us >= pause_min)
      steps.push_back(bursts[i]);
    else
      steps.back().end = bursts[i].end;
  }
  return steps;
}

/// What one step has shown of a rank.
struct Shown {
  std::int64_t late = 0, waited = 0, cost = 0;
};

void note(const Column& column, Column& sorted, std::vector<Shown>& shown) {
  sorted = column;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::ranges::nth_element(sorted, middle);
  const std::int64_t median = *middle;
  const auto last = std::ranges::max_element(column);
  std::int64_t second = std::numeric_limits<std::int64_t>::min();
  for (auto at = column.begin(); at != column.end(); ++at)
    if (at != last) second = std::max(second, *at);
  for (std::size_t i = 0; i < column.size(); ++i) {
    shown[i].late = std::max(shown[i].late, column[i] - median);
    shown[i].waited = std::max(shown[i].waited, *last - column[i]);
  }
  auto& of_last = shown[static_cast<std::size_t>(last - column.begin())];
  of_last.cost = std::max(of_last.cost, *last - second);
}

/// The last ones that fit into the time, and this many at least. The first step may have begun
/// before what is known of it, and the last one may go on, so that these do not count.
std::pair<std::size_t, std::size_t> bounds(const std::vector<Burst>& steps, int steps_min,
                                           std::int64_t time_us) {
  if (steps.size() < static_cast<std::size_t>(steps_min) + 2) return {0, 0};
  const std::size_t end = steps.size() - 1;
  std::size_t begin = end - static_cast<std::size_t>(steps_min);
  while (begin > 1 && steps[end].at_us - steps[begin - 1].at_us <= time_us) --begin;
  return {begin, end};
}

}  // namespace

std::optional<GroupLateness> measure_lateness(const std::map<int, ArrivalTimes>& arrivals,
                                              int steps_min, std::int64_t time_us) {
  if (arrivals.size() < 2) return std::nullopt;
  const Common common = in_common(arrivals);
  const std::vector<Burst> steps = steps_in(bursts_in(common.columns));
  const auto [begin, end] = bounds(steps, steps_min, time_us);
  if (begin == end) return std::nullopt;
  GroupLateness found{.steps = static_cast<int>(end - begin),
                      .first = common.first + static_cast<std::int64_t>(steps[begin].begin),
                      .last = common.first + static_cast<std::int64_t>(steps[end].begin) - 1,
                      .elapsed_us = steps[end].at_us - steps[begin].at_us,
                      .ranks = {}};
  const double clearly =
      kClearlyLate * static_cast<double>(found.elapsed_us) / static_cast<double>(found.steps);
  std::vector<Lateness> ranks(arrivals.size());
  Column sorted;
  for (std::size_t step = begin; step < end; ++step) {
    std::vector<Shown> shown(arrivals.size());
    for (std::size_t i = steps[step].begin; i < steps[step].end; ++i)
      note(common.columns[i], sorted, shown);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      ranks[i].late_us += shown[i].late;
      ranks[i].waited_us += shown[i].waited;
      ranks[i].cost_us += shown[i].cost;
      if (static_cast<double>(shown[i].late) > clearly) ++ranks[i].times_late;
    }
  }
  std::size_t i = 0;
  for (const auto& [rank, times] : arrivals) found.ranks.emplace(rank, ranks[i++]);
  return found;
}

}  // namespace ddprun
