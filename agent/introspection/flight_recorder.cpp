#include "agent/introspection/flight_recorder.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/parse_number.hpp"

namespace ddprun {

namespace {

using nlohmann::json;

/// A trace is a megabyte, most of it old entries; what counts is at its end. The recorder writes
/// the keys of an object in the order of the alphabet, so that pieces of it can be found.
constexpr std::string_view kStatus = "\"pg_status\":";
constexpr std::string_view kEntry = "{\"collective_seq_id\":";
constexpr std::string_view kAfterEntries = "],\"nccl_comm_state\"";
constexpr std::size_t kLastEntries = 32;
constexpr std::size_t kNamesMax = 4096;  // a trace is the word of the user's program

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// torch writes some numbers as texts.
std::int64_t number_of(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return 0;
  if (found->is_number_integer()) return found->get<std::int64_t>();
  if (!found->is_string()) return 0;
  return parse_number<std::int64_t>(found->get_ref<const std::string&>()).value_or(0);
}

json parse(const std::string& text) { return json::parse(text, nullptr, false); }

/// The status is the last but one member of the trace.
json status_of(std::string_view trace) {
  const std::size_t at = trace.rfind(kStatus);
  if (at == std::string_view::npos) return {};
  json rest = parse("{" + std::string{trace.substr(at)});
  if (!rest.is_object()) return {};
  return rest["pg_status"];
}

GroupName name_in(const json& entry) {
  const auto group = entry.find("process_group");
  if (group == entry.end() || !group->is_array() || group->size() != 2) return {};
  const json& name = (*group)[0];
  const json& description = (*group)[1];
  if (!name.is_string() || !description.is_string()) return {};
  return {name.get<std::string>(), description.get<std::string>()};
}

/// An entry has `"pg_id":0,"process_group":["0","default_pg"]`.
GroupName find_name(std::string_view trace, const std::string& id) {
  const std::string key = "\"pg_id\":" + id + ",\"process_group\":[";
  const std::size_t at = trace.rfind(key);
  if (at == std::string_view::npos) return {};
  const std::size_t list = at + key.size() - 1;
  const std::size_t end = trace.find(']', list);
  if (end == std::string_view::npos) return {};
  return name_in(json{{"process_group", parse(std::string{trace.substr(list, end + 1 - list)})}});
}

GroupName name_of(std::string_view trace, const std::string& id, GroupNames& names) {
  const auto known = names.find(id);
  if (known != names.end()) return known->second;
  GroupName name = find_name(trace, id);
  if (name.name.empty()) return {id, ""};
  if (names.size() >= kNamesMax) names.clear();
  return names[id] = name;
}

json last_entries(std::string_view trace) {
  const std::size_t end = trace.rfind(kAfterEntries);
  if (end == std::string_view::npos) return {};
  std::size_t begin = end;
  for (std::size_t found = 0; found < kLastEntries; ++found) {
    const std::size_t before = begin == 0 ? std::string_view::npos : trace.rfind(kEntry, begin - 1);
    if (before == std::string_view::npos) break;
    begin = before;
  }
  return parse("[" + std::string{trace.substr(begin, end - begin)} + "]");
}

bool is_pending(const json& entry) {
  if (!entry.is_object() || text_of(entry, "state") == "completed") return false;
  const auto retired = entry.find("retired");
  return retired != entry.end() && retired->is_boolean() && !retired->get<bool>();
}

PendingCollective pending_in(const json& entry) {
  std::string shapes = entry.value("input_sizes", json::array()).dump();
  const json types = entry.value("input_dtypes", json::array());
  if (types.is_array() && !types.empty() && types[0].is_string())
    shapes += " " + types[0].get<std::string>();
  // Messages between two ranks are counted apart.
  const auto of_two = entry.find("is_p2p");
  const bool is_message = of_two != entry.end() && of_two->is_boolean() && of_two->get<bool>();
  return {text_of(entry, "profiling_name"), name_in(entry),
          number_of(entry, is_message ? "p2p_seq_id" : "collective_seq_id"), shapes};
}

}  // namespace

std::optional<std::vector<GroupProgress>> read_group_progress(std::string_view trace,
                                                              GroupNames& names) try {
  const json status = status_of(trace);
  if (!status.is_object()) return std::nullopt;
  std::vector<GroupProgress> groups;
  for (const auto& [id, counts] : status.items()) {
    if (!counts.is_object()) continue;
    groups.push_back({name_of(trace, id, names).name, number_of(counts, "last_enqueued_collective"),
                      number_of(counts, "last_completed_collective")});
  }
  return groups;
} catch (const json::exception&) {
  return std::nullopt;
}

std::optional<PendingCollective> read_pending(std::string_view trace) try {
  const json entries = last_entries(trace);
  if (!entries.is_array()) return std::nullopt;
  const auto pending = std::ranges::find_if(entries, is_pending);
  if (pending == entries.end()) return std::nullopt;
  return pending_in(*pending);
} catch (const json::exception&) {
  return std::nullopt;
}

std::string read_store_wait(std::string_view counters) try {
  struct Wait {
    const char* counter;
    const char* name;
  };
  constexpr std::array kWaits{
      Wait{"pytorch.wait_counter.c10d.init_process_group", "init_process_group"},
      Wait{"pytorch.wait_counter.TCPStore__waitForWorkers", "waitForWorkers"},
      Wait{"pytorch.wait_counter.TCPStore__wait", "wait"},
      Wait{"pytorch.wait_counter.TCPStore__get", "get"}};
  const json all = json::parse(counters, nullptr, false);
  if (!all.is_object()) return "";
  for (const Wait& wait : kWaits) {
    const auto counter = all.find(wait.counter);
    if (counter != all.end() && counter->is_object() && number_of(*counter, "active_count") > 0)
      return wait.name;
  }
  return "";
} catch (const json::exception&) {
  return "";
}

}  // namespace ddprun
