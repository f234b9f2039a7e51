#include "agent/reports/job_events.hpp"

#include <nlohmann/json.hpp>

#include "agent/reports/report_json.hpp"
#include "base/json/json_text.hpp"
#include "base/match.hpp"
#include "rendezvous/messages/report_fields.hpp"

namespace ddprun {

namespace {

using Json = nlohmann::ordered_json;

/// How the process ended, as fields of its event.
void add_status(Json& event, const ExitStatus& status) {
  if (status.signal != 0)
    event["signal"] = signal_name(status.signal);
  else
    event["exit_code"] = status.code;
}

/// One event: its kind, and the fields that only this kind has.
struct Event {
  const char* kind = nullptr;  // nullptr: nothing to write
  Json fields = Json::object();
};

Event of_end(const EndJob& end) {
  Event event{"job_ended", {{"outcome", name_of(end.outcome)}, {"restarts", end.restarts}}};
  if (!end.message.empty()) event.fields["message"] = end.message;
  if (!end.failure) return event;
  event.fields["rank"] = end.failure->rank;
  event.fields["host"] = end.failure->host;
  add_status(event.fields, end.failure->status);
  return event;
}

Event of_verdict(const Cause& cause) {
  return {"verdict",
          {{"ranks", cause.ranks},
           {"host", cause.node},
           {"sentence", cause.sentence},
           {"fingerprint", cause.fingerprint}}};
}

Event of_hang(const HangFound& found) {
  Event event{"hang",
              {{"round", found.round},
               {"sentence", found.report.sentence},
               {"missing_ranks", found.report.missing_ranks},
               {"waiting_ranks", found.report.waiting_ranks},
               {"silent_ms", found.report.silent_ms}}};
  if (!found.report.stacks.empty())
    event.fields["stacks"] = report_json::of_stacks(found.report.stacks);
  return event;
}

Event of_debugged(const RanksDebugged& debugged) {
  Event event{debugged.ranks.empty() ? "debugging_over" : "debugging", {{"round", debugged.round}}};
  for (const DebuggedRank& rank : debugged.ranks)
    event.fields["ranks"].push_back(Json(fields::to_object(rank)));
  return event;
}

Event of_stop(const StopRound& stop) {
  return {"round_stopping",
          {{"round", stop.round}, {"reason", stop.reason}, {"checkpoint_ms", stop.checkpoint_ms}}};
}

Event of_order(const CoordinatorMessage& order) {
  return match(
      order,  //
      [](const Joined&) { return Event{"joined"}; },
      [](const Refused& m) {
        return Event{"refused", {{"reason", m.reason}}};
      },
      [](const Spare& m) {
        Event event{"spare", {{"round", m.round}, {"nodes", m.nodes}}};
        if (!m.objection.empty()) event.fields["objection"] = m.objection;
        return event;
      },
      [](const StopRound& m) { return of_stop(m); }, [](const EndJob& m) { return of_end(m); },
      [](const HangFound& m) { return of_hang(m); },
      [](const VerdictFound& m) { return of_verdict(m.verdict.cause); },
      [](const HangOver& m) {
        return Event{"hang_over", {{"round", m.round}, {"lasted_ms", m.lasted_ms}}};
      },
      [](const RanksDebugged& m) { return of_debugged(m); },
      [](const StragglerFound& m) {
        Event event{"straggler", fields::to_object(m.straggler)};
        event.fields["round"] = m.round;
        return event;
      },
      [](const StragglerOver& m) {
        return Event{"straggler_over", {{"round", m.round}, {"ranks", m.ranks}}};
      },
      [](const Restarted& m) {
        return Event{"restart", fields::to_object(m.times)};
      },
      [](const JobTimes& m) {
        return Event{"times", fields::to_object(m.goodput)};
      },
      [](const auto&) { return Event{}; });
}

Event of_signal(int signal, const char* meaning) {
  return {"signal", {{"signal", signal_name(signal)}, {"meaning", meaning}}};
}

Event of_worker(const WorkerExited& exit, int round) {
  const WorkerFailure& how = exit.how;
  Event event{
      "worker_ended",
      {{"round", round}, {"rank", how.rank}, {"local_rank", how.local_rank}, {"pid", how.pid}}};
  add_status(event.fields, how.status);
  if (!exit.end.fault.type.empty())
    event.fields["exception"] = report_json::of_exception(exit.end.fault);
  if (!how.evidence.empty()) event.fields["evidence"] = how.evidence;
  if (!how.last_heartbeat.empty()) event.fields["last_heartbeat"] = how.last_heartbeat;
  return event;
}

Event of_round(const StartRound& round) {
  Event event{"round_started",
              {{"round", round.round},
               {"attempt", round.attempt},
               {"group_rank", round.group_rank},
               {"nodes", round.group_world_size},
               {"first_rank", round.first_rank},
               {"world_size", round.world_size}}};
  if (!round.vacant.empty()) event.fields["vacant"] = round.vacant;
  return event;
}

Event of_exit(const AgentEnd& end) {
  Event event{"agent_ended", {{"outcome", name_of(outcome_of(end))}}};
  if (!end.message.empty()) event.fields["message"] = end.message;
  return event;
}

std::string line(std::int64_t time_unix_us, const std::string& node, const Event& event) {
  if (event.kind == nullptr) return "";
  Json out{{"time", static_cast<double>(time_unix_us) / 1e6}, {"kind", event.kind}, {"node", node}};
  out.update(event.fields);
  return json_text(out) + '\n';
}

}  // namespace

std::string JobEvents::begins(const LaunchSpec& spec, const RunFacts& run, std::int64_t pid,
                              std::int64_t time_unix_us) const {
  Event event{"agent_began",
              {{"schema", kEventSchema},
               {"job", run.run_id},
               {"program", spec.title},
               {"workers", spec.workers},
               {"pid", pid}}};
  if (!run.command.empty()) event.fields["command"] = run.command;
  return line(time_unix_us, node_, event);
}

std::string JobEvents::of(const AgentEvent& event, std::int64_t time_unix_us) {
  const Event out = match(
      event,  //
      [](const Ordered& e) { return of_order(e.message); },
      [&](const WorkerExited& e) { return of_worker(e, round_); },
      [&](const TreeGone&) {
        return Event{"round_stopped", {{"round", round_}}};
      },
      [](const Connected&) { return Event{"connected"}; },
      [](const CoordinatorUnreachable& e) {
        return Event{"coordinator_unreachable", {{"reason", e.reason}}};
      },
      [](const CoordinatorLost& e) {
        return Event{"coordinator_lost", {{"reason", e.reason}}};
      },
      [](const StopSignal& e) { return of_signal(e.signal, "stop"); },
      [](const EndAnnounced& e) { return of_signal(e.signal, "end_announced"); },
      [](const PassOn& e) { return of_signal(e.signal, "passed_on"); },
      [](const auto&) { return Event{}; });
  return line(time_unix_us, node_, out);
}

std::string JobEvents::of(const AgentAction& action, std::int64_t time_unix_us) {
  const Event out = match(
      action,  //
      [&](const StartWorkers& a) {
        round_ = a.round.round;
        return of_round(a.round);
      },
      [](const SignalWorkers& a) {
        return Event{"signal_sent", {{"signal", signal_name(a.signal)}, {"to_stop", a.to_stop}}};
      },
      [&](const AskForCheckpoint& a) {
        return Event{"checkpoint_asked", {{"round", round_}, {"signal", signal_name(a.signal)}}};
      },
      [](const Disconnect&) { return Event{"disconnected"}; },
      [](const Warn& a) {
        return Event{"warning", {{"text", a.text}}};
      },
      [](const Exit& a) { return of_exit(a.end); }, [](const auto&) { return Event{}; });
  return line(time_unix_us, node_, out);
}

std::string JobEvents::of(const CheckpointNews& news, std::int64_t time_unix_us) const {
  using What = CheckpointNews::What;
  Event event{"checkpoint_put_back", {{"checkpoint", news.name}, {"number", news.number}}};
  if (news.what == What::kPutBack) {
    event.fields["bytes_from_disk"] = news.bytes_from_disk;
    if (!news.failing.empty()) event.fields["failing"] = news.failing;
  } else {
    event.kind = news.what == What::kKept ? "checkpoint_kept" : "checkpoint_written";
    event.fields["bytes"] = news.bytes;
  }
  return line(time_unix_us, node_, event);
}

std::string JobEvents::started(const std::vector<RunningWorker>& workers,
                               std::int64_t time_unix_us) const {
  std::string lines;
  for (const RunningWorker& worker : workers)
    lines += line(time_unix_us, node_,
                  {"worker_started",
                   {{"round", round_},
                    {"rank", worker.rank},
                    {"local_rank", worker.local_rank},
                    {"pid", worker.pid}}});
  return lines;
}

}  // namespace ddprun
