#include "launcher/record/run_record.hpp"

#include "base/json/json_fields.hpp"
#include "base/json/json_text.hpp"

namespace ddprun {

namespace fields {

// Paths may be as long as the kernel takes them.
constexpr TextLimit kRecordName{200}, kRecordPath{4096}, kRecordValue{400}, kRecordVersion{100};
constexpr TextLimit kRecordHost{253};
constexpr std::size_t kRecordWordsMax = 128, kRecordVariablesMax = 128, kRecordHostsMax = 2048;

// clang-format off
template <> inline constexpr auto kFields<RecordedScript> = table(
    text<&RecordedScript::name>("name", kRecordName),
    text<&RecordedScript::path>("path", kRecordPath),
    text<&RecordedScript::sha256>("sha256", kRecordVersion));
template <> inline constexpr auto kFields<RunRecord> = table(
    field<&RunRecord::script>("script"),
    texts<&RunRecord::arguments>("arguments", kRecordValue, kRecordWordsMax),
    texts<&RunRecord::options>("options", kRecordValue, kRecordVariablesMax),
    texts<&RunRecord::environment>("environment", kRecordValue, kRecordVariablesMax),
    text<&RunRecord::ddprun>("ddprun", kRecordVersion),
    text<&RunRecord::python_path>("python_path", kRecordPath),
    text<&RunRecord::python>("python", kRecordVersion),
    text<&RunRecord::torch>("torch", kRecordVersion),
    text<&RunRecord::driver>("driver", kRecordVersion),
    text<&RunRecord::kernel>("kernel", kRecordVersion),
    texts<&RunRecord::hosts>("hosts", kRecordHost, kRecordHostsMax),
    field<&RunRecord::workers>("workers"), field<&RunRecord::world_size>("world_size"),
    field<&RunRecord::started_unix_ms>("started_unix_ms"),
    field<&RunRecord::ended_unix_ms>("ended_unix_ms"));
// clang-format on

}  // namespace fields

namespace {

constexpr std::size_t kLayoutBytes = 64 * 1024;  // the schema, and blanks that begin lines

RunRecord record_from(const nlohmann::json& in) {
  if (!is_object(&in)) fields::unfit("the record", in, "an object");
  const auto* found = member(in, "schema");
  const std::string schema = found == nullptr ? std::string{} : fields::text_from(*found, "schema");
  if (schema != kRunRecordSchema)
    throw fields::Unfit{"its schema is '" + schema + "', and '" + kRunRecordSchema +
                        "' was expected"};
  return fields::from_object<RunRecord>(in, "the record");
}

}  // namespace

const std::size_t kRunRecordBytesMax = fields::longest<RunRecord>() + kLayoutBytes;

std::string to_json(const RunRecord& record) {
  return fields::to_text(record, JsonStyle::kIndented, {"schema", kRunRecordSchema}) + "\n";
}

Result<RunRecord> parse_run_record(std::string_view text) try {
  const auto in = parse_json(text);
  if (!in) return invalid("it is no JSON");
  return record_from(**in);
} catch (const fields::Unfit& unfit) {
  return invalid(unfit.what());
}

RunRecord as_read(const RunRecord& record) {
  const auto read = parse_run_record(to_json(record));
  return read ? *read : record;
}

}  // namespace ddprun
