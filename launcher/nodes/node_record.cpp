#include "launcher/nodes/node_record.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/json_fields.hpp"
#include "base/json/json_text.hpp"
#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/messages/report_fields.hpp"

namespace ddprun {

namespace {

constexpr char kNodeRecordSchema[] = "ddprun-node-failure-1";
constexpr std::string_view kBegins = ".node-failure.";
constexpr std::string_view kEnds = ".json";
constexpr std::int64_t kTimeMax = 4'102'444'800'000;  // in the year 2100; 13 digits

NodeRecord record_of(const nlohmann::json& in) {
  if (!is_object(&in)) fields::unfit("the record", in, "an object");
  const auto* schema = member(in, "schema");
  if (schema == nullptr || fields::text_from(*schema, "schema") != kNodeRecordSchema)
    throw fields::Unfit{std::string{"its schema is not "} + kNodeRecordSchema};
  auto record = fields::from_object<NodeRecord>(in, "the record");
  if (record.host.empty() || record.time_unix_ms < 0 || record.time_unix_ms > kTimeMax)
    throw fields::Unfit{"it names no host, or no time"};
  return record;
}

}  // namespace

namespace fields {

// clang-format off
template <> inline constexpr auto kFields<NodeRecord> = table(
    text<&NodeRecord::host>("host", TextLimit{kHostBytesMax}),
    field<&NodeRecord::time_unix_ms>("time_unix_ms"), field<&NodeRecord::kind>("kind"),
    text<&NodeRecord::fingerprint>("fingerprint", TextLimit{1024}),
    text<&NodeRecord::run_id>("run_id", TextLimit{kRunIdBytesMax}),
    text<&NodeRecord::sentence>("sentence", TextLimit{1024}));
// clang-format on

}  // namespace fields

std::string to_json(const NodeRecord& record) {
  return fields::to_text(record, JsonStyle::kAscii, {"schema", kNodeRecordSchema}) + "\n";
}

Result<NodeRecord> parse_node_record(std::string_view text) try {
  if (text.size() > kNodeRecordBytesMax) return invalid("it is too long");
  const auto in = parse_json(text);
  if (!in) return invalid("it is no JSON");
  return record_of(**in);
} catch (const fields::Unfit& unfit) {
  return invalid(unfit.what());
}

NodeFailure failure_at(TimePoint at, const NodeRecord& record) {
  return {.host = record.host,
          .at = at,
          .kind = record.kind,
          .fingerprint = record.fingerprint,
          .run_id = record.run_id,
          .sentence = record.sentence};
}

std::string node_file_name(std::int64_t time_unix_ms, std::uint32_t unlike) {
  return fmt::format("{}{:013}.{:08x}{}", kBegins,
                     std::clamp<std::int64_t>(time_unix_ms, 0, kTimeMax), unlike, kEnds);
}

bool is_node_file(std::string_view name) {
  if (!name.starts_with(kBegins) || !name.ends_with(kEnds) ||
      name.size() != node_file_name(0, 0).size())
    return false;
  name.remove_prefix(kBegins.size());
  name.remove_suffix(kEnds.size());
  return name.find_first_not_of("0123456789abcdef.") == std::string_view::npos;
}

}  // namespace ddprun
