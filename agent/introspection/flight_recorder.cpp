#include "agent/introspection/flight_recorder.hpp"

#include <algorithm>
#include <array>

#include "base/json/json_text.hpp"
#include "base/numbers.hpp"

namespace ddprun {

namespace {

using nlohmann::json;

/// A trace is a megabyte, most of it old entries; what counts is at its end. The recorder writes
/// the keys of an object in the order of the alphabet, so that pieces of it can be found.
constexpr std::string_view kStatus = "\"pg_status\":";
constexpr std::string_view kEntry = "{\"collective_seq_id\":";
constexpr std::string_view kAfterEntries = "],\"nccl_comm_state\"";
constexpr std::size_t kLastEntries = 32;
constexpr std::size_t kArrivalEntries = 2 * kGroupArrivalsMax;  // several groups share them
constexpr std::int64_t kNanosecondsPerMicrosecond = 1'000;
constexpr std::int64_t kSequenceMax = std::int64_t{1} << 52;  // numbers are added to it
constexpr std::size_t kNamesMax = 4096;  // a trace is the word of the user's program

/// torch writes some numbers as texts.
std::int64_t number_of(const json* object, const char* key) {
  const json* value = member(object, key);
  if (const auto number = integer_in(value)) return *number;
  const std::string* text = text_in(value);
  return text == nullptr ? 0 : parse_number<std::int64_t>(*text).value_or(0);
}

/// What begins with the status, which is the last but one member of the trace.
ParsedJson tail_of(std::string_view trace) {
  const std::size_t at = trace.rfind(kStatus);
  if (at == std::string_view::npos) return json_or_null("");
  return json_or_null("{" + std::string{trace.substr(at)});
}

GroupName name_in(const json* list) {
  const auto both = entries(list);
  if (!both || both->size() != 2) return {};
  const std::string* name = text_in((*both)[0]);
  const std::string* description = text_in((*both)[1]);
  if (name == nullptr || description == nullptr) return {};
  return {*name, *description};
}

/// An entry has `"pg_id":0,"process_group":["0","default_pg"]`.
GroupName find_name(std::string_view trace, const std::string& id) {
  const std::string key = "\"pg_id\":" + id + ",\"process_group\":[";
  const std::size_t at = trace.rfind(key);
  if (at == std::string_view::npos) return {};
  const std::size_t list = at + key.size() - 1;
  const std::size_t end = trace.find(']', list);
  if (end == std::string_view::npos) return {};
  return name_in(&*json_or_null(trace.substr(list, end + 1 - list)));
}

GroupName name_of(std::string_view trace, const std::string& id, GroupNames& names) {
  const auto known = names.find(id);
  if (known != names.end()) return known->second;
  GroupName name = find_name(trace, id);
  if (name.name.empty()) return {id, ""};
  if (names.size() >= kNamesMax) names.clear();
  return names[id] = name;
}

ParsedJson last_entries(std::string_view trace, std::size_t count = kLastEntries) {
  const std::size_t end = trace.rfind(kAfterEntries);
  if (end == std::string_view::npos) return json_or_null("");
  std::size_t begin = end;
  for (std::size_t found = 0; found < count; ++found) {
    const std::size_t before = begin == 0 ? std::string_view::npos : trace.rfind(kEntry, begin - 1);
    if (before == std::string_view::npos) break;
    begin = before;
  }
  return json_or_null("[" + std::string{trace.substr(begin, end - begin)} + "]");
}

bool is_pending(const json* entry) {
  return text_at(entry, "state") != "completed" && bool_in(member(entry, "retired")) == false;
}

/// Whether the collective that a group entered last is done, by the entries. Gloo's threads count
/// one after the other what they have done, so that the status may be one behind for ever.
bool is_last_done(const json* last, const std::string& id, std::int64_t enqueued) {
  const auto list = entries(last);
  if (!list) return false;
  const auto group = parse_number<std::int64_t>(id);
  bool done = false;
  for (const json* entry : *list) {
    if (number_of(entry, "pg_id") != group) continue;
    if (is_pending(entry)) return false;
    done = done || number_of(entry, "collective_seq_id") == enqueued;
  }
  return done;
}

bool is_sequence(std::int64_t number) { return number >= 0 && number <= kSequenceMax; }

/// A group's collectives that follow one another without a gap, and when they were entered.
class ArrivalLog {
 public:
  void note(std::int64_t sequence, std::int64_t at_us) {
    if (!at_us_.empty() && sequence != first_ + static_cast<std::int64_t>(at_us_.size()))
      at_us_.clear();
    if (at_us_.empty()) first_ = sequence;
    at_us_.push_back(at_us);
  }

  bool empty() const { return at_us_.empty(); }

  /// It is not empty.
  GroupArrivals told(const std::string& group) const {
    const std::size_t begin = at_us_.size() - std::min(at_us_.size(), kGroupArrivalsMax);
    GroupArrivals told{group, first_ + static_cast<std::int64_t>(begin), at_us_[begin], {}};
    for (std::size_t i = begin + 1; i < at_us_.size(); ++i)
      told.pauses_us.push_back(std::max<std::int64_t>(at_us_[i] - at_us_[i - 1], 0));
    return told;
  }

 private:
  std::int64_t first_ = 0;
  std::vector<std::int64_t> at_us_;
};

PendingCollective pending_in(const json* entry) {
  const json* sizes = member(entry, "input_sizes");
  std::string shapes = sizes == nullptr ? "[]" : json_text(*sizes);
  const auto types = entries(member(entry, "input_dtypes"));
  const std::string* type = types && !types->empty() ? text_in(types->front()) : nullptr;
  if (type != nullptr) shapes += " " + *type;
  // Messages between two ranks are counted apart.
  const bool is_message = bool_in(member(entry, "is_p2p")) == true;
  return {text_at(entry, "profiling_name"), name_in(member(entry, "process_group")),
          number_of(entry, is_message ? "p2p_seq_id" : "collective_seq_id"), shapes};
}

}  // namespace

std::optional<std::vector<GroupProgress>> read_group_progress(std::string_view trace,
                                                              GroupNames& names) {
  const ParsedJson tail = tail_of(trace);
  const json* status = member(*tail, "pg_status");
  if (!is_object(status)) return std::nullopt;
  std::optional<ParsedJson> last;  // read where a group needs it
  std::vector<GroupProgress> groups;
  for (const auto& [key, counts] : members(status)) {
    if (!is_object(counts)) continue;
    const std::string id{key};
    GroupProgress group{name_of(trace, id, names).name,
                        number_of(counts, "last_enqueued_collective"),
                        number_of(counts, "last_completed_collective")};
    if (group.completed < group.enqueued) {
      if (!last) last.emplace(last_entries(trace));
      if (is_last_done(&**last, id, group.enqueued)) group.completed = group.enqueued;
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::optional<PendingCollective> read_pending(std::string_view trace) {
  const ParsedJson last = last_entries(trace);
  const auto list = entries(&*last);
  if (!list) return std::nullopt;
  const auto pending = std::ranges::find_if(*list, is_pending);
  if (pending == list->end()) return std::nullopt;
  return pending_in(*pending);
}

std::vector<GroupArrivals> read_arrivals(std::string_view trace) {
  const ParsedJson last = last_entries(trace, kArrivalEntries);
  const auto list = entries(&*last);
  if (!list) return {};
  std::map<std::string, ArrivalLog> logs;
  std::map<std::string, std::int64_t> messages;  // in each group before the first of these
  for (const json* entry : *list) {
    const auto is_message = bool_in(member(entry, "is_p2p"));
    if (is_message == true) return {};
    const std::int64_t number = number_of(entry, "collective_seq_id");
    // Gloo's messages have no entry of their own, but count as operations.
    const std::int64_t operations = number_of(entry, "op_id");
    if (!is_message || !is_sequence(number) || !is_sequence(operations)) continue;
    const std::string group = name_in(member(entry, "process_group")).name;
    const auto before = messages.try_emplace(group, operations - number).first->second;
    if (operations > 0 && operations - number != before) return {};
    logs[group].note(number, number_of(entry, "time_created_ns") / kNanosecondsPerMicrosecond);
  }
  std::vector<GroupArrivals> groups;
  for (auto& [name, log] : logs)
    if (groups.size() < kProgressGroupsMax && !name.empty() && !log.empty())
      groups.push_back(log.told(name));
  return groups;
}

std::string read_store_wait(std::string_view counters) {
  struct Wait {
    const char* counter;
    const char* name;
  };
  constexpr std::array kWaits{
      Wait{"pytorch.wait_counter.c10d.init_process_group", "init_process_group"},
      Wait{"pytorch.wait_counter.TCPStore__waitForWorkers", "waitForWorkers"},
      Wait{"pytorch.wait_counter.TCPStore__wait", "wait"},
      Wait{"pytorch.wait_counter.TCPStore__get", "get"}};
  const ParsedJson all = json_or_null(counters);
  for (const Wait& wait : kWaits)
    if (number_of(member(*all, wait.counter), "active_count") > 0) return wait.name;
  return "";
}

}  // namespace ddprun
