#include "agent/reports/job_events.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "agent/spec/agent_outcome.hpp"
#include "base/match.hpp"
#include "rendezvous/messages/times_fields.hpp"

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
  return {"hang",
          {{"round", found.round},
           {"sentence", found.report.sentence},
           {"missing_ranks", found.report.missing_ranks},
           {"waiting_ranks", found.report.waiting_ranks},
           {"silent_ms", found.report.silent_ms}}};
}

Event of_order(const CoordinatorMessage& order) {
  Event event;
  match(
      order,  //
      [&](const Joined&) { event.kind = "joined"; },
      [&](const Refused& m) {
        event = {"refused", {{"reason", m.reason}}};
      },
      [&](const Spare& m) {
        event = {"spare", {{"round", m.round}, {"nodes", m.nodes}}};
      },
      [&](const StopRound& m) {
        event = {"round_stopping",
                 {{"round", m.round}, {"reason", m.reason}, {"checkpoint_ms", m.checkpoint_ms}}};
      },
      [&](const EndJob& m) { event = of_end(m); }, [&](const HangFound& m) { event = of_hang(m); },
      [&](const VerdictFound& m) { event = of_verdict(m.verdict.cause); },
      [&](const HangOver& m) {
        event = {"hang_over", {{"round", m.round}, {"lasted_ms", m.lasted_ms}}};
      },
      [&](const Restarted& m) {
        event = {"restart", fields::to_object(m.times)};
      },
      [&](const JobTimes& m) {
        event = {"times", fields::to_object(m.goodput)};
      },
      [](const auto&) {});
  return event;
}

Event of_signal(int signal, const char* meaning) {
  return {"signal", {{"signal", signal_name(signal)}, {"meaning", meaning}}};
}

Event of_worker(const WorkerFailure& how, int round) {
  Event event{
      "worker_ended",
      {{"round", round}, {"rank", how.rank}, {"local_rank", how.local_rank}, {"pid", how.pid}}};
  add_status(event.fields, how.status);
  if (!how.evidence.empty()) event.fields["evidence"] = how.evidence;
  if (!how.last_heartbeat.empty()) event.fields["last_heartbeat"] = how.last_heartbeat;
  return event;
}

Event of_round(const StartRound& round) {
  return {"round_started",
          {{"round", round.round},
           {"attempt", round.attempt},
           {"group_rank", round.group_rank},
           {"nodes", round.group_world_size},
           {"first_rank", round.first_rank},
           {"world_size", round.world_size}}};
}

std::string line(std::int64_t time_unix_us, const std::string& node, const Event& event) {
  if (event.kind == nullptr) return "";
  Json out{{"time", static_cast<double>(time_unix_us) / 1e6}, {"kind", event.kind}, {"node", node}};
  out.update(event.fields);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace

std::string JobEvents::begins(const LaunchSpec& spec, const RunFacts& run, std::int64_t pid,
                              std::int64_t time_unix_us) const {
  return line(time_unix_us, node_,
              {"agent_began",
               {{"schema", kEventSchema},
                {"job", run.run_id},
                {"program", spec.title},
                {"workers", spec.workers},
                {"pid", pid}}});
}

std::string JobEvents::of(const AgentEvent& event, std::int64_t time_unix_us) {
  Event out;
  match(
      event,  //
      [&](const Ordered& e) { out = of_order(e.message); },
      [&](const WorkerExited& e) { out = of_worker(e.how, round_); },
      [&](const TreeGone&) {
        out = {"round_stopped", {{"round", round_}}};
      },
      [&](const Connected&) { out.kind = "connected"; },
      [&](const CoordinatorUnreachable& e) {
        out = {"coordinator_unreachable", {{"reason", e.reason}}};
      },
      [&](const CoordinatorLost& e) {
        out = {"coordinator_lost", {{"reason", e.reason}}};
      },
      [&](const StopSignal& e) { out = of_signal(e.signal, "stop"); },
      [&](const EndAnnounced& e) { out = of_signal(e.signal, "end_announced"); },
      [&](const PassOn& e) { out = of_signal(e.signal, "passed_on"); }, [](const auto&) {});
  return line(time_unix_us, node_, out);
}

std::string JobEvents::of(const AgentAction& action, std::int64_t time_unix_us) {
  Event out;
  match(
      action,  //
      [&](const StartWorkers& a) {
        round_ = a.round.round;
        out = of_round(a.round);
      },
      [&](const SignalWorkers& a) {
        out = {"signal_sent", {{"signal", signal_name(a.signal)}, {"to_stop", a.to_stop}}};
      },
      [&](const AskForCheckpoint& a) {
        out = {"checkpoint_asked", {{"round", round_}, {"signal", signal_name(a.signal)}}};
      },
      [&](const Disconnect&) { out.kind = "disconnected"; },
      [&](const Warn& a) {
        out = {"warning", {{"text", a.text}}};
      },
      [&](const Exit& a) {
        out = {"agent_ended", {{"outcome", name_of(outcome_of(a.end))}}};
        if (!a.end.message.empty()) out.fields["message"] = a.end.message;
      },
      [](const auto&) {});
  return line(time_unix_us, node_, out);
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
