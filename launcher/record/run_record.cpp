#include "launcher/record/run_record.hpp"

#include <tuple>

#include "rendezvous/messages/json_fields.hpp"

namespace ddprun {

namespace fields {

// Paths may be as long as the kernel takes them.
constexpr TextLimit kRecordName{200}, kRecordPath{4096}, kRecordValue{400}, kRecordVersion{100};
constexpr TextLimit kRecordHost{253};
constexpr std::size_t kRecordWordsMax = 128, kRecordVariablesMax = 128, kRecordHostsMax = 2048;

// clang-format off
template <> inline constexpr auto kFields<RecordedScript> = std::tuple{
    text("name", &RecordedScript::name, kRecordName),
    text("path", &RecordedScript::path, kRecordPath),
    text("sha256", &RecordedScript::sha256, kRecordVersion)};
template <> inline constexpr auto kFields<RunRecord> = std::tuple{
    field("script", &RunRecord::script),
    texts("arguments", &RunRecord::arguments, kRecordValue, kRecordWordsMax),
    texts("options", &RunRecord::options, kRecordValue, kRecordVariablesMax),
    texts("environment", &RunRecord::environment, kRecordValue, kRecordVariablesMax),
    text("ddprun", &RunRecord::ddprun, kRecordVersion),
    text("python_path", &RunRecord::python_path, kRecordPath),
    text("python", &RunRecord::python, kRecordVersion),
    text("torch", &RunRecord::torch, kRecordVersion),
    text("driver", &RunRecord::driver, kRecordVersion),
    text("kernel", &RunRecord::kernel, kRecordVersion),
    texts("hosts", &RunRecord::hosts, kRecordHost, kRecordHostsMax),
    field("workers", &RunRecord::workers), field("world_size", &RunRecord::world_size),
    field("started_unix_ms", &RunRecord::started_unix_ms),
    field("ended_unix_ms", &RunRecord::ended_unix_ms)};
// clang-format on

}  // namespace fields

namespace {

using fields::json;

constexpr std::size_t kLayoutBytes = 64 * 1024;  // the schema, and blanks that begin lines

RunRecord record_from(const json& in) {
  if (!in.is_object()) fields::unfit("the record", in, "an object");
  const auto found = in.find("schema");
  const std::string schema =
      found == in.end() ? std::string{} : fields::text_from(*found, "schema");
  if (schema != kRunRecordSchema)
    throw fields::Unfit{"its schema is '" + schema + "', and '" + kRunRecordSchema +
                        "' was expected"};
  return fields::from_object<RunRecord>(in, "the record");
}

}  // namespace

const std::size_t kRunRecordBytesMax = fields::longest<RunRecord>() + kLayoutBytes;

std::string to_json(const RunRecord& record) {
  json out = fields::to_object(record);
  out["schema"] = kRunRecordSchema;
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<RunRecord> parse_run_record(std::string_view text) {
  const json in = json::parse(text, nullptr, false);
  if (in.is_discarded()) return invalid("it is no JSON");
  try {
    return record_from(in);
  } catch (const fields::Unfit& unfit) {
    return invalid(unfit.what());
  }
}

RunRecord as_read(const RunRecord& record) {
  const auto read = parse_run_record(to_json(record));
  return read ? *read : record;
}

}  // namespace ddprun
