#include "rendezvous/rounds/observers.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/match.hpp"
#include "rendezvous/rounds/status_of.hpp"

namespace ddprun {

namespace {

using Node = Roster::Node;

constexpr std::int64_t kStepMax = std::int64_t{1} << 53;  // steps are added and multiplied

Advance advance_of(const RankProgress& told, TimePoint now) {
  const auto ago = [&](std::int64_t ms) { return now - within_reason(static_cast<double>(ms)); };
  Advance seen{.step = std::min(told.step, kStepMax), .at = ago(told.still_ms)};
  if (told.first_step >= 0 && told.first_ms >= 0)
    seen.first = Advance::Step{std::min(told.first_step, kStepMax), ago(told.first_ms)};
  return seen;
}

}  // namespace

Clock::duration within_reason(double ms) {
  constexpr double kMost = 3'600'000;
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double, std::milli>{std::clamp(ms, 0.0, kMost)});
}

void Observers::came(const Node& node) {
  debugged_.came(node.id());
  if (!node.join.witness) job_history_.came(node.join.host);
}

void Observers::came_back(const NodeId& node) {
  watch_.add(node);
  debugged_.came(node);
}

void Observers::heard(const NodeId& node, const Beat& beat) {
  if (beat.load || beat.checkpoints)
    node_news_[node] = {beat.load, beat.checkpoints};
  else
    node_news_.erase(node);
}

void Observers::lost(const Node& node, const std::string& reason, bool shown, bool round_runs,
                     TimePoint now) {
  watch_.forget(node.id());
  dump_.forget(node.id());
  debugged_.forget(node.id());
  node_news_.erase(node.id());
  if (!shown || node.phase() == Roster::Phase::kContending || node.join.witness) return;
  NodeStatus status = status_of(node, round_runs, now);
  status.reason = reason;
  job_history_.lost(std::move(status), now);
}

void Observers::progressed(const Node& node, const Progress& report, const Roster& nodes,
                           TimePoint now) {
  const auto is_done = [](const GroupProgress& group) { return group.completed > 0; };
  const bool runs = times_.runs();
  for (const RankProgress& told : report.ranks) {
    if (!node.seats.holds(told.rank)) continue;
    if (runs) watch_.take(told, now);
    if (told.step >= 0 || std::ranges::any_of(told.groups, is_done))
      times_.progressed(advance_of(told, now));
  }
  if (runs) draw_curves(nodes, now);
}

/// Adds a point to the curves when it is time for one and somebody tells his step.
void Observers::draw_curves(const Roster& nodes, TimePoint now) {
  if (!job_history_.wants_point(now)) return;
  JobStatus status;
  nodes.for_each([&](const Node& node) { status.nodes.push_back(status_of(node, true, now)); });
  tell_ranks(status, false);
  tell_progress(status, watch_.progress(), now);
  summarize(status);
  if (status.summary.step < 0) return;
  job_history_.add_point({.step = status.summary.step,
                          .has_loss = status.summary.has_loss,
                          .loss = status.summary.loss,
                          .samples_per_second = status.summary.samples_per_second},
                         now);
}

void Observers::arrived(const Node& node, const Arrivals& told, const Roster& nodes, Outbox& out,
                        TimePoint now) {
  if (!times_.runs() || node.seats.round() != told.round || !node.seats.holds(told.rank)) return;
  match(
      stragglers_.take(told, now), [](std::monostate) {},
      [&](const StragglerWatch::Found& found) {
        out.send_to_members(nodes, StragglerFound{told.round, described(found.straggler, nodes)});
      },
      [&](const StragglerWatch::Over& over) {
        out.send_to_members(nodes, StragglerOver{told.round, over.ranks});
      });
}

void Observers::inspected(const NodeId& node, const Inspected& answer) {
  watch_.take(node, answer);
  dump_.take(node, answer);
  stragglers_.take(answer);
}

void Observers::debugging(const Node& node, const Debugging& report) {
  if (times_.runs() && node.seats.round() == report.round) debugged_.take(node, report);
}

std::optional<HangReport> Observers::look(int round, const Roster& nodes, Outbox& out,
                                          TimePoint now) {
  if (const auto any = debugged_.tell(nodes, out)) {
    *any ? watch_.suspend() : watch_.resume(now);
    *any ? stragglers_.suspend(now) : stragglers_.resume(now);
  }
  if (const auto due = stragglers_.next_sample(); due && *due <= now) {
    const auto [rank, question] = stragglers_.sample(watch_.next_inspection(), now);
    if (const Node* const node = nodes.with_rank(rank)) out.send(node->peer(), question);
  }
  const RoundWatch::Finding finding = watch_.look(round, now);
  if (const auto* ask = std::get_if<RoundWatch::Ask>(&finding))
    out.send_to_members(nodes, ask->question);
  if (const auto* over = std::get_if<RoundWatch::Over>(&finding))
    out.send_to_members(nodes, HangOver{round, over->lasted.count()});
  const auto* const found = std::get_if<RoundWatch::Found>(&finding);
  if (found == nullptr) return std::nullopt;
  if (watch_.hang()) out.send_to_members(nodes, HangFound{round, found->report});
  return found->report;
}

void Observers::tell(JobStatus& status, const Roster& nodes, TimePoint now) const {
  tell_progress(status, watch_.progress(), now);
  tell_lateness(status, stragglers_, nodes);
  status.summary.debugged = debugged_.ranks();
}

void Observers::sealed(const RoundStatus& round, const Roster& nodes, TimePoint now) {
  std::set<NodeId> watched;
  nodes.for_each([&](const Node& node) {
    if (node.is_in_round()) watched.insert(node.id());
  });
  times_.sealed(round.round, round.nodes, now);
  watch_.begin_round(round.world_size, std::move(watched), now);
  stragglers_.begin_round(round.round, round.world_size);
  debugged_.begin_round(round.round);
  job_history_.sealed(round.round, round.attempt, round.nodes, round.world_size, now);
}

void Observers::recovered(const RoundStatus& round, TimePoint now) {
  watch_.begin_round(round.world_size, {}, now);
  stragglers_.begin_round(round.round, round.world_size);
  debugged_.begin_round(round.round);
  times_.sealed(round.round, 0, now);
  job_history_.sealed(round.round, round.attempt, round.nodes, round.world_size, now);
}

void Observers::forget_round() {
  watch_.end_round();
  stragglers_.end_round();
  debugged_.end_round();
}

void Observers::stopping(const StopRound& order, Clock::duration noticed_after, TimePoint now) {
  job_history_.stopped(order, now, watch_.hang());
  forget_round();
  times_.stop_ordered({.round = order.round,
                       .reason = order.reason,
                       .in_place = order.keep,
                       .nobody_lost = order.gently,
                       .noticed_after = noticed_after},
                      now);
}

void Observers::ended(const Roster& nodes, Outbox& out, TimePoint now) {
  tell_restarts(nodes, out, now);
  if (const auto times = times_.end(now)) out.send_to_nodes(nodes, Restarted{*times});
  out.send_to_nodes(nodes, JobTimes{times_.restarts(), times_.goodput(now)});
  job_history_.ended(now);
}

void Observers::goes(const Node& node, Outbox& out, TimePoint now) const {
  out.send(node.peer(), JobTimes{times_.restarts(), times_.goodput(now)});
}

void Observers::ask_dump(const Node& node, const AskDump& question, const RoundView& round,
                         const Roster& nodes, Outbox& out, TimePoint now) {
  dump_.add(node.peer(), question.question);
  if (!round.runs || dump_.under_way()) return;
  RoundDump::Seats seats;
  nodes.for_each([&](const Node& member) {
    if (member.is_in_round())
      seats[member.id()] = {member.join.host, member.seats.first_rank(), member.seats.taken(),
                            member.phase() == Roster::Phase::kFinished};
  });
  const int number = watch_.next_inspection();
  const Inspect inspect{
      .round = round.round, .inspection = number, .patience_ms = kDumpPatience.count()};
  dump_.begin(number, std::move(seats), now);
  nodes.for_each([&](const Node& member) {
    if (dump_.waits_for(member.id())) out.send(member.peer(), inspect);
  });
}

bool Observers::owes_dump(bool round_runs, TimePoint now) const {
  return dump_.has_askers() && (!round_runs || now >= dump_.due());
}

void Observers::answer_dump(JobDump state, const Roster& nodes, Outbox& out, TimePoint now) {
  JobDump dump;
  if (dump_.under_way()) dump = dump_.finish(watch_.progress(), now);
  dump.state = std::move(state.state);
  dump.why = std::move(state.why);
  dump.round = state.round;
  dump.attempt = state.attempt;
  if (watch_.hang()) {
    dump.hang = watch_.hang();
    dump.hang->stacks.clear();
  }
  const std::string text = to_json(dump);
  for (const auto& [peer, question] : dump_.take_askers())
    if (nodes.has_peer(peer))
      for (DumpPart& part : parts_of<DumpPart>(text, question)) out.send(peer, std::move(part));
}

void Observers::tell_restarts(const Roster& nodes, Outbox& out, TimePoint now) {
  while (const auto times = times_.take_due(now)) out.send_to_nodes(nodes, Restarted{*times});
}

std::optional<TimePoint> Observers::next_due(bool round_runs) const {
  std::optional<TimePoint> next = times_.next_due();
  const auto consider = [&](std::optional<TimePoint> t) {
    if (t) next = next ? std::min(*next, *t) : t;
  };
  if (round_runs) consider(watch_.next_look());
  if (round_runs) consider(stragglers_.next_sample());
  if (dump_.under_way()) consider(dump_.due());
  return next;
}

}  // namespace ddprun
