#include "launcher/nodes/node_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "rendezvous/messages/json_fields.hpp"
#include "rendezvous/messages/messages.hpp"
#include "rendezvous/messages/verdict_fields.hpp"

namespace ddprun {

namespace {

using nlohmann::json;

constexpr char kNodeRecordSchema[] = "ddprun-node-failure-1";
constexpr std::string_view kBegins = ".node-failure.";
constexpr std::string_view kEnds = ".json";
constexpr std::int64_t kTimeMax = 4'102'444'800'000;  // in the year 2100; 13 digits

NodeRecord record_of(const json& in) {
  if (!in.is_object()) fields::unfit("the record", in, "an object");
  const auto schema = in.find("schema");
  if (schema == in.end() || fields::text_from(*schema, "schema") != kNodeRecordSchema)
    throw fields::Unfit{std::string{"its schema is not "} + kNodeRecordSchema};
  auto record = fields::from_object<NodeRecord>(in, "the record");
  if (record.host.empty() || record.time_unix_ms < 0 || record.time_unix_ms > kTimeMax)
    throw fields::Unfit{"it names no host, or no time"};
  return record;
}

}  // namespace

namespace fields {

// clang-format off
template <> inline constexpr auto kFields<NodeRecord> = std::tuple{
    text("host", &NodeRecord::host, TextLimit{kHostBytesMax}),
    field("time_unix_ms", &NodeRecord::time_unix_ms), field("kind", &NodeRecord::kind),
    text("fingerprint", &NodeRecord::fingerprint, TextLimit{1024}),
    text("run_id", &NodeRecord::run_id, TextLimit{kRunIdBytesMax}),
    text("sentence", &NodeRecord::sentence, TextLimit{1024})};
// clang-format on

}  // namespace fields

std::string to_json(const NodeRecord& record) {
  json out = fields::to_object(record);
  out["schema"] = kNodeRecordSchema;
  return fields::ascii_line(out) + "\n";
}

Result<NodeRecord> parse_node_record(std::string_view text) try {
  if (text.size() > kNodeRecordBytesMax) return invalid("it is too long");
  const json in = json::parse(text, nullptr, false);
  if (in.is_discarded()) return invalid("it is no JSON");
  return record_of(in);
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
