#include "agent/reports/job_news.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/reports/hang_text.hpp"
#include "agent/reports/report_text.hpp"
#include "base/number_text.hpp"
#include "rendezvous/messages/round_messages.hpp"

namespace ddprun {

namespace {

std::string text(const Waiting& waiting, const std::string& place) {
  const auto seconds = (waiting.left_ms + 999) / 1000;
  if (waiting.nodes < waiting.nodes_min)
    return fmt::format("waiting for nodes{}: {} of {} there; giving up in {} s",
                       place.empty() ? "" : " at " + place, waiting.nodes, waiting.nodes_min,
                       seconds);
  const std::string there =
      waiting.nodes == 1 ? "1 node is" : fmt::format("{} nodes are", waiting.nodes);
  if (waiting.objected > 0)
    return fmt::format(
        "{} there, {} of them to be left out (--node-strikes, --check-nodes): starting in {} s, or "
        "when others have come in place of these",
        there, waiting.objected, seconds);
  return fmt::format("{} there, and {} may be: starting in {} s", there, waiting.nodes_max,
                     seconds);
}

}  // namespace

std::optional<std::string> WaitNote::next(const Waiting& waiting, const std::string& place,
                                          TimePoint now) {
  if (!since_) since_ = now;
  const bool due = !said_ || waiting.nodes != nodes_ || now - *said_ >= kInterval;
  if (!due || now - *since_ < kSilence) return std::nullopt;
  said_ = now;
  nodes_ = waiting.nodes;
  return text(waiting, place);
}

namespace {

/// It knows nothing of seats that are vacant on other nodes.
std::string text_in_place(const StartRound& round, int workers) {
  const auto vacant = seats_in(round.vacant, workers).size();
  std::string text = fmt::format("in place, with {} workers", round.world_size);
  if (vacant == 1) text += ", while another one starts";
  if (vacant > 1) text += fmt::format(", while {} others start", vacant);
  return text;
}

std::string text(const StopRound& stop) {
  if (stop.keep) return stop.reason + ": the other workers stay, and leave the round";
  if (stop.checkpoint_ms <= 0) return stop.reason + ": stopping all workers";
  return fmt::format("{}: workers have {} s for a checkpoint", stop.reason,
                     (stop.checkpoint_ms + 999) / 1000);
}

}  // namespace

JobNews::JobNews(const LaunchSpec& spec, const RunFacts& run)
    : workers_{spec.workers},
      restarts_max_{spec.terms.restarts_max},
      restarts_{spec.terms.restarts},
      place_{spec.meeting.etcd ? "" : text_of(run.coordinator)},
      shares_output_{spec.meeting.shares_output},
      tells_job_{run.coordinator_here || !shares_output_},
      on_hang_{spec.terms.on_hang} {}

std::vector<NewsLine> JobNews::of(const CoordinatorMessage& message, TimePoint now) {
  if (const auto* start = std::get_if<StartRound>(&message)) return of_start(*start);
  if (const auto* stop = std::get_if<StopRound>(&message)) {
    in_place_ = stop->keep;
    return {of_job(text(*stop))};
  }
  if (const auto* spare = std::get_if<Spare>(&message)) return {of_spare(*spare)};
  if (const auto* restarted = std::get_if<Restarted>(&message))
    return {of_job(times_text(restarted->times))};
  if (const auto* times = std::get_if<JobTimes>(&message)) return of_times(times->goodput);
  if (const auto* hang = std::get_if<HangFound>(&message)) return of_hang(hang->report);
  if (const auto* over = std::get_if<HangOver>(&message))
    return {of_job(fmt::format("the workers that hung go on, after {} s", over->lasted_ms / 1000))};
  if (const auto* debugged = std::get_if<RanksDebugged>(&message)) return of_debugged(*debugged);
  if (const auto* found = std::get_if<StragglerFound>(&message)) {
    straggler_ = found->straggler;
    return {of_job(straggler_->sentence)};
  }
  if (const auto* over = std::get_if<StragglerOver>(&message)) {
    straggler_.reset();
    return {of_job(fmt::format("{} {} as fast as the others again", ranks_text(over->ranks),
                               are_many(over->ranks) ? "are" : "is"))};
  }
  if (const auto* waiting = std::get_if<Waiting>(&message)) return of_waiting(*waiting, now);
  return {};
}

std::vector<NewsLine> JobNews::of_waiting(const Waiting& waiting, TimePoint now) {
  if (waiting.pause_ms > 0) {
    if (!std::exchange(tells_pause_, false)) return {};
    return {of_job(fmt::format("restarting in {} s (--restart-delay {})",
                               (waiting.pause_ms - 1) / 1000 + 1, delay_text(restarts_)))};
  }
  const std::string& place = attempt_ ? std::string{} : place_;  // later it may be elsewhere
  if (auto note = wait_note_.next(waiting, place, now)) return {of_job(std::move(*note))};
  return {};
}

NewsLine JobNews::of_spare(const Spare& spare) {
  if (!spare.objection.empty())
    return {NewsLine::Level::kWarning,
            fmt::format("round {} goes on without this node, which {}: it waits as a spare",
                        spare.round, spare.objection)};
  return {NewsLine::Level::kWarning,
          fmt::format("round {} has its {} nodes: this one waits as a spare", spare.round,
                      spare.nodes)};
}

NewsLine JobNews::of_parked(const StartRound& place) const {
  const bool one = workers_ == 1;
  return {NewsLine::Level::kWarning,
          fmt::format("round {} goes on without this node: starting {} beside it, which {} in when "
                      "{} so far",
                      place.round - 1, one ? "a worker" : fmt::format("{} workers", workers_),
                      one ? "comes" : "come", one ? "it is" : "they are")};
}

std::vector<NewsLine> JobNews::of_hang(const HangReport& report) {
  std::vector<NewsLine> lines;
  for (std::string& line : hang_lines(report)) lines.push_back(of_job(std::move(line)));
  if (on_hang_ == OnHang::kReport && report.silent_ms > 0)
    lines.push_back(
        of_job("  no worker is stopped because of it (--on-hang restart or stop does)"));
  return lines;
}

/// A rank has a line when it begins to wait or to be debugged.
std::vector<NewsLine> JobNews::of_debugged(const RanksDebugged& now) {
  const RanksDebugged before = std::exchange(debugged_, now);
  const bool goes_on = before.round == now.round && !before.ranks.empty();
  std::vector<DebuggedRank> fresh = now.ranks;
  if (goes_on)
    std::erase_if(fresh, [&](const DebuggedRank& each) {
      return std::ranges::any_of(before.ranks, [&](const DebuggedRank& old) {
        return old.rank == each.rank && old.waits == each.waits;
      });
    });
  std::vector<NewsLine> lines;
  for (std::string& line : lines_of(fresh)) lines.push_back(of_job(std::move(line)));
  if (goes_on && now.ranks.empty())
    lines.push_back(of_job("no rank is debugged any more: hangs are looked for again"));
  return lines;
}

std::vector<NewsLine> JobNews::of_start(const StartRound& round) {
  wait_note_ = {};
  straggler_.reset();
  tells_pause_ = true;
  std::vector<NewsLine> lines;
  if (attempt_ && round.attempt > *attempt_)
    lines.push_back(of_job(
        fmt::format("restart {}: {}", restart_number_text(round.attempt, restarts_max_, restarts_),
                    in_place_ ? text_in_place(round, workers_)
                              : "starting " + counted(round.world_size, "worker") + " again")));
  in_place_ = false;
  attempt_ = round.attempt;
  if (!round.node_note.empty()) lines.push_back(of_job(round.node_note));
  std::string text =
      fmt::format("round {}: ranks {} to {} of {} on this node", round.round, round.first_rank,
                  round.first_rank + workers_in(round.vacant, workers_) - 1, round.world_size);
  lines.push_back({NewsLine::Level::kInfo, std::move(text)});
  return lines;
}

/// Where nothing was restarted, only who asks for more wants to know.
std::vector<NewsLine> JobNews::of_times(const Goodput& times) const {
  std::vector<NewsLine> lines;
  if (straggler_) lines.push_back(of_job(past_sentence_of(*straggler_)));
  lines.push_back(times.restarts + times.changes > 0
                      ? of_job(times_text(times))
                      : NewsLine{NewsLine::Level::kInfo, times_text(times)});
  return lines;
}

NewsLine JobNews::of_job(std::string text) const {
  return {tells_job_ ? NewsLine::Level::kWarning : NewsLine::Level::kInfo, std::move(text)};
}

}  // namespace ddprun
