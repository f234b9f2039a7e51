#include "launcher/doctor/reading_json.hpp"

#include <type_traits>
#include <utility>

#include "rendezvous/messages/json_fields.hpp"

namespace ddprun {

namespace {

using nlohmann::json;

// Each struct names its fields once, for both directions. `f` is a JsonWriter or a JsonReader.

void each_field(auto& f, LimitsReading& r) {
  f("open_files", r.open_files);
  f("open_files_hard", r.open_files_hard);
  f("processes", r.processes);
  f("locked_bytes", r.locked_bytes);
  f("cgroup_tasks_max", r.cgroup_tasks_max);
  f("cgroup_tasks", r.cgroup_tasks);
  f("locks_all_memory", r.locks_all_memory);
  f("may_exceed_processes", r.may_exceed_processes);
}

void each_field(auto& f, MemoryReading& r) {
  f("total_bytes", r.total_bytes);
  f("available_bytes", r.available_bytes);
  f("cgroup_max_bytes", r.cgroup_max_bytes);
  f("cgroup_used_bytes", r.cgroup_used_bytes);
  f("shm_bytes", r.shm_bytes);
  f("shm_free_bytes", r.shm_free_bytes);
  f("transparent_huge_pages", r.transparent_huge_pages);
}

void each_field(auto& f, BusyProcess& r) {
  f("pid", r.pid);
  f("name", r.name);
  f("cpus", r.cpus);
}

void each_field(auto& f, CpusReading& r) {
  f("online", r.online);
  f("usable", r.usable);
  f("quota", r.quota);
  f("numa_nodes", r.numa_nodes);
  f("busy", r.busy);
}

void each_field(auto& f, FolderReading& r) {
  f("role", r.role);
  f("path", r.path);
  f("error", r.error);
  f("errno", r.error_number);
  f("tried", r.tried);
  f("file_system", r.file_system);
  f("total_bytes", r.total_bytes);
  f("free_bytes", r.free_bytes);
  f("free_files", r.free_files);
  f("write_ms", r.write_ms);
}

void each_field(auto& f, LookupReading& r) {
  f("question", r.question);
  f("answers", r.answers);
  f("error", r.error);
  f("ms", r.ms);
}

void each_field(auto& f, NameServerReading& r) {
  f("address", r.address);
  f("answer_ms", r.answer_ms);
}

void each_field(auto& f, NamesReading& r) {
  f("own_name", r.own_name);
  f("own_address", r.own_address);
  f("servers", r.servers);
}

void each_field(auto& f, PythonReading& r) {
  f("path", r.path);
  f("error", r.error);
  f("version", r.version);
  f("torch", r.torch);
  f("cuda", r.cuda);
  f("nccl", r.nccl);
}

void each_field(auto& f, PythonAnswer& r) {
  each_field(f, r.python);
  f("missing_modules", r.missing_modules);
}

void each_field(auto& f, ScriptReading& r) {
  f("path", r.path);
  f("error", r.error);
  f("sha256", r.sha256);
  f("missing_modules", r.missing_modules);
}

void each_field(auto& f, GpuProcess& r) {
  f("pid", r.pid);
  f("name", r.name);
  f("bytes", r.bytes);
}

void each_field(auto& f, GpuReading& r) {
  f("index", r.index);
  f("bus_id", r.bus_id);
  f("model", r.model);
  f("memory_bytes", r.memory_bytes);
  f("used_bytes", r.used_bytes);
  f("processes", r.processes);
  f("persistent", r.persistent);
  f("ecc", r.ecc);
  f("uncorrected_errors", r.uncorrected_errors);
  f("repair_pending", r.repair_pending);
  f("repair_failed", r.repair_failed);
  f("throttled", r.throttled);
  f("celsius", r.celsius);
  f("nvlinks", r.nvlinks);
  f("nvlinks_active", r.nvlinks_active);
  f("nvswitch", r.nvswitch);
}

void each_field(auto& f, GpusReading& r) {
  f("on_bus", r.on_bus);
  f("present", r.present);
  f("driver", r.driver);
  f("cuda", r.cuda);
  f("error", r.error);
  f("gpus", r.gpus);
}

void each_field(auto& f, InterfaceReading& r) {
  f("name", r.name);
  f("addresses", r.addresses);
  f("mtu", r.mtu);
  f("up", r.up);
  f("loopback", r.loopback);
}

void each_field(auto& f, InfinibandReading& r) {
  f("device", r.device);
  f("port", r.port);
  f("state", r.state);
  f("link_layer", r.link_layer);
  f("rate", r.rate);
}

void each_field(auto& f, LinkReading& r) {
  f("node", r.node);
  f("use", r.use);
  f("address", r.address);
  f("error", r.error);
  f("ms", r.ms);
  f("rtt_ms", r.rtt_ms);
  f("small_only", r.small_only);
  f("interface", r.interface);
  f("mtu", r.mtu);
}

void each_field(auto& f, PeerNameReading& r) {
  f("node", r.node);
  f("lookup", r.lookup);
}

void each_field(auto& f, PeersReading& r) {
  f("shares_with", r.shares_with);
  f("shares_logs_with", r.shares_logs_with);
  f("links", r.links);
  f("peer_names", r.peer_names);
}

void each_field(auto& f, NodeReading& r) {
  f("node", r.node);
  f("ddprun", r.ddprun);
  f("kernel", r.kernel);
  f("limits", r.limits);
  f("memory", r.memory);
  f("cpus", r.cpus);
  f("folders", r.folders);
  f("names", r.names);
  f("python", r.python);
  f("script", r.script);
  f("gpus", r.gpus);
  f("interfaces", r.interfaces);
  f("infiniband", r.infiniband);
  f("nccl_interfaces", r.nccl_interfaces);
  f("gloo_interfaces", r.gloo_interfaces);
  f("clock_offset_ms", r.clock_offset_ms);
  f("clock_doubt_ms", r.clock_doubt_ms);
  each_field(f, r.peers);
}

/// Writes the fields that have something to say.
struct JsonWriter {
  json out = json::object();

  template <typename T>
  void operator()(const char* name, T& value) {
    json written = write(value);
    if (written.is_null()) return;
    const bool empty =
        written == "" || written == false || (written.is_structured() && written.empty());
    if (fields::kIsOptional<T> || !empty) out[name] = std::move(written);
  }

  template <typename T>
  static json write(T& value) {
    if constexpr (fields::kIsOptional<T>) {
      return value ? write(*value) : json();
    } else if constexpr (fields::kIsList<T>) {
      json list = json::array();
      for (auto& entry : value) list.push_back(write(entry));
      return list;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      JsonWriter writer;
      each_field(writer, value);
      return std::move(writer.out);
    }
  }
};

/// Reads the fields that are there. It throws fields::Unfit.
struct JsonReader {
  const json& in;

  template <typename T>
  void operator()(const char* name, T& value) {
    const auto found = in.find(name);
    if (found != in.end() && !found->is_null()) read(*found, name, value);
  }

  template <typename T>
  static void read(const json& from, const char* name, T& value) {
    if constexpr (fields::kIsOptional<T>) {
      read(from, name, value.emplace());
    } else if constexpr (fields::kIsList<T>) {
      if (!from.is_array()) fields::unfit(name, from, "a list");
      for (const json& entry : from) read(entry, name, value.emplace_back());
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      value = fields::value_from<T>(from, name);
      if constexpr (std::is_same_v<T, std::int64_t>)
        if (value < kUnlimited) fields::unfit(name, from, "a number from -1 up");
    } else {
      if (!from.is_object()) fields::unfit(name, from, "an object");
      JsonReader reader{from};
      each_field(reader, value);
    }
  }
};

template <typename T>
json json_of(T value) {
  return JsonWriter::write(value);
}

template <typename T>
std::string line_of(const T& value) {
  return json_of(value).dump(-1, ' ', false, json::error_handler_t::replace);
}

template <typename T>
Result<T> parse_as(std::string_view text) try {
  T value;
  JsonReader::read(json::parse(text), "reading", value);
  return value;
} catch (const json::exception& e) {
  return invalid(std::string{"this is no reading of a node: "} + e.what());
} catch (const fields::Unfit& e) {
  return invalid(std::string{"this is no reading of a node: "} + e.what());
}

}  // namespace

json to_json(const NodeReading& reading) { return json_of(reading); }

std::string to_line(const NodeReading& reading) { return line_of(reading); }
std::string to_line(const FolderReading& reading) { return line_of(reading); }
std::string to_line(const LookupReading& reading) { return line_of(reading); }
std::string to_line(const GpusReading& reading) { return line_of(reading); }
std::string to_line(const NamesReading& reading) { return line_of(reading); }

Result<NodeReading> parse_reading(std::string_view text) { return parse_as<NodeReading>(text); }
Result<FolderReading> parse_folder(std::string_view text) { return parse_as<FolderReading>(text); }
Result<LookupReading> parse_lookup(std::string_view text) { return parse_as<LookupReading>(text); }
Result<GpusReading> parse_gpus(std::string_view text) { return parse_as<GpusReading>(text); }
Result<NamesReading> parse_names(std::string_view text) { return parse_as<NamesReading>(text); }
Result<PythonAnswer> parse_python(std::string_view text) { return parse_as<PythonAnswer>(text); }

}  // namespace ddprun
