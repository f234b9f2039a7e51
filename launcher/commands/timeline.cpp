#include "launcher/commands/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/json/json_text.hpp"

namespace ddprun {

namespace {

using nlohmann::json;

constexpr std::int64_t kNumberMax = 1 << 30;  // a rank or a code above it is nonsense
constexpr int kNodeTrack = 0;                 // a rank's is the rank + 1

std::string text(const json& fields, const char* name) {
  const auto found = fields.find(name);
  if (found == fields.end()) return "";
  return found->is_string() ? found->get<std::string>() : json_text(*found);
}

std::optional<int> number(const json& fields, const char* name) {
  const auto found = fields.find(name);
  if (found == fields.end() || !found->is_number_integer()) return std::nullopt;
  const auto value = found->get<std::int64_t>();
  if (value < 0 || value > kNumberMax) return std::nullopt;
  return static_cast<int>(value);
}

bool failed(const json& fields) {
  return fields.contains("signal") || number(fields, "exit_code").value_or(0) != 0;
}

std::string end_of_worker(const json& fields) {
  if (fields.contains("signal")) return "killed by " + text(fields, "signal");
  return "exited with code " + text(fields, "exit_code");
}

}  // namespace

/// Goes through the events in the order of their times, and opens and closes spans.
class TraceWriter {
 public:
  explicit TraceWriter(std::vector<const Timeline::Event*> events) : events_{std::move(events)} {}

  json write() {
    begin_ = events_.empty() ? 0 : events_.front()->time_s;
    for (const Timeline::Event* event : events_) take(*event);
    for (auto& [node, facts] : nodes_) close_all(facts);
    return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(out_)}};
  }

 private:
  /// Something that has begun.
  struct Span {
    std::string name;
    double since_us = 0;
    json args;
  };
  struct Node {
    int pid = 0;
    double last_us = 0;  // its last event
    std::optional<Span> phase;
    std::map<int, Span> workers;  // by rank
    std::map<int, bool> tracks;   // that have a name
  };

  double us(const Timeline::Event& event) const {
    return std::round((event.time_s - begin_) * 1e6);
  }

  void take(const Timeline::Event& event) {
    Node& node = node_of(event);
    const double now = node.last_us = us(event);
    const json& fields = event.fields;
    if (event.kind == "agent_began") {
      begin_phase(node, "waiting for nodes", now);
    } else if (event.kind == "round_started") {
      begin_phase(node, "round " + text(fields, "round"), now, fields);
    } else if (event.kind == "round_stopping") {
      begin_phase(node, "stopping", now, fields);
    } else if (event.kind == "round_stopped") {
      begin_phase(node, "waiting for the next round", now);
    } else if (event.kind == "worker_started") {
      begin_worker(node, fields, now);
    } else if (event.kind == "worker_ended") {
      end_worker(node, fields, now);
    } else {
      instant(node, event, now);
    }
    if (event.kind == "agent_ended") close_all(node);
  }

  Node& node_of(const Timeline::Event& event) {
    const auto [at, is_new] = nodes_.try_emplace(event.node);
    if (is_new) {
      at->second.pid = static_cast<int>(nodes_.size());
      name("process_name", at->second, kNodeTrack, event.node);
    }
    return at->second;
  }

  void begin_phase(Node& node, std::string what, double now, json args = json::object()) {
    end_phase(node, now);
    name_track(node, kNodeTrack, "rounds");
    node.phase = Span{std::move(what), now, std::move(args)};
  }

  void end_phase(Node& node, double now) {
    if (node.phase) span(node, kNodeTrack, *node.phase, now);
    node.phase.reset();
  }

  void begin_worker(Node& node, const json& fields, double now) {
    const auto rank = number(fields, "rank");
    if (!rank) return;
    name_track(node, *rank + 1, fmt::format("rank {}", *rank));
    node.workers[*rank] = {"pid " + text(fields, "pid"), now, fields};
  }

  /// One that ended before anybody could tell that it began has run for no time.
  void end_worker(Node& node, const json& fields, double now) {
    const auto rank = number(fields, "rank");
    if (!rank) return;
    if (!node.workers.contains(*rank)) begin_worker(node, fields, now);
    Span worker = std::move(node.workers[*rank]);
    node.workers.erase(*rank);
    worker.args.update(fields);
    span(node, *rank + 1, worker, now);
    if (failed(fields)) point(node, *rank + 1, end_of_worker(fields), "t", now, fields);
  }

  void instant(Node& node, const Timeline::Event& event, double now) {
    const json& fields = event.fields;
    std::string what = event.kind;
    std::ranges::replace(what, '_', ' ');
    for (const char* more : {"signal", "reason", "sentence", "outcome", "text"})
      if (fields.contains(more)) what += ": " + text(fields, more);
    const bool of_all = event.kind == "hang" || event.kind == "job_ended";
    point(node, kNodeTrack, what, of_all ? "g" : "p", now, fields);
  }

  void close_all(Node& node) {
    end_phase(node, node.last_us);
    for (const auto& [rank, worker] : node.workers) span(node, rank + 1, worker, node.last_us);
    node.workers.clear();
  }

  void span(const Node& node, int track, const Span& span, double end) {
    out_.push_back({{"ph", "X"},
                    {"name", span.name},
                    {"pid", node.pid},
                    {"tid", track},
                    {"ts", span.since_us},
                    {"dur", std::max(end - span.since_us, 0.0)},
                    {"args", span.args}});
  }

  void point(const Node& node, int track, const std::string& what, const char* scope, double now,
             const json& args) {
    out_.push_back({{"ph", "i"},
                    {"name", what},
                    {"pid", node.pid},
                    {"tid", track},
                    {"ts", now},
                    {"s", scope},
                    {"args", args}});
  }

  void name_track(Node& node, int track, const std::string& text) {
    if (!std::exchange(node.tracks[track], true)) name("thread_name", node, track, text);
  }

  void name(const char* what, const Node& node, int track, const std::string& text) {
    out_.push_back({{"ph", "M"},
                    {"name", what},
                    {"pid", node.pid},
                    {"tid", track},
                    {"args", {{"name", text}}}});
  }

  std::vector<const Timeline::Event*> events_;
  double begin_ = 0;  // the time of the first one
  std::map<std::string, Node> nodes_;
  json out_ = json::array();
};

bool Timeline::add(std::string_view line) {
  json fields = *json_or_null(line);
  if (!fields.is_object()) return false;
  const auto time = fields.find("time");
  const auto kind = fields.find("kind");
  if (time == fields.end() || !time->is_number() || kind == fields.end() || !kind->is_string())
    return false;
  Event event{time->get<double>(), text(fields, "node"), kind->get<std::string>(), {}};
  for (const char* known : {"time", "kind", "node"}) fields.erase(known);
  event.fields = std::move(fields);
  events_.push_back(std::move(event));
  return true;
}

std::string Timeline::trace() const {
  std::vector<const Event*> sorted;
  for (const Event& event : events_) sorted.push_back(&event);
  std::ranges::stable_sort(sorted, {}, [](const Event* event) { return event->time_s; });
  return json_text(TraceWriter{std::move(sorted)}.write()) + "\n";
}

}  // namespace ddprun
