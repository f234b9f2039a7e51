#include "launcher/record/run_record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <set>

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

namespace {

using Values = std::map<std::string, std::string>;
using Words = std::vector<std::string>;

/// A value that is empty and set is not one that is not set.
std::string value_shown(const std::string& value) { return value.empty() ? "''" : value; }

bool both_known(const std::string& before, const std::string& now) {
  return !before.empty() && !now.empty();
}

/// Texts that one of the two may not know.
void compare(std::vector<Change>& out, ChangeKind kind, const std::string& what,
             const std::string& before, const std::string& now) {
  if (before != now && both_known(before, now)) out.push_back({kind, what, before, now});
}

void compare(std::vector<Change>& out, ChangeKind kind, const Values& before, const Values& now) {
  std::set<std::string> names;
  for (const Values* values : {&before, &now})
    for (const auto& [name, value] : *values) names.insert(name);
  for (const std::string& name : names) {
    const auto was = before.find(name), is = now.find(name);
    Change change{.kind = kind, .what = (kind == ChangeKind::kOption ? "--" : "") + name};
    if (was != before.end()) change.before = value_shown(was->second);
    if (is != now.end()) change.now = value_shown(is->second);
    if (change.before != change.now) out.push_back(std::move(change));
  }
}

std::string joined(Words::const_iterator begin, Words::const_iterator end) {
  std::string text = fmt::format("{}", fmt::join(begin, end, " "));
  return text.empty() ? text : "'" + text + "'";
}

/// From the first word that differs to the last one, with the option that a value belongs to.
void compare_arguments(std::vector<Change>& out, const Words& before, const Words& now) {
  if (before == now) return;
  auto [was, is] = std::mismatch(before.begin(), before.end(), now.begin(), now.end());
  auto was_end = before.end(), is_end = now.end();
  for (; was_end != was && is_end != is && *(was_end - 1) == *(is_end - 1); --was_end) --is_end;
  const bool values = was != was_end && is != is_end && !was->starts_with('-');
  if (values && was != before.begin() && (was - 1)->starts_with('-')) {
    --was;
    --is;
  }
  out.push_back({ChangeKind::kArguments, "arguments", joined(was, was_end), joined(is, is_end)});
}

void compare_hosts(std::vector<Change>& out, const Words& before, const Words& now) {
  if (before.empty() || now.empty()) return;
  const std::set<std::string> were{before.begin(), before.end()}, are{now.begin(), now.end()};
  for (const std::string& host : are)
    if (!were.contains(host)) out.push_back({ChangeKind::kNode, "node", "", host});
  for (const std::string& host : were)
    if (!are.contains(host)) out.push_back({ChangeKind::kNode, "node", host, ""});
}

void compare_numbers(std::vector<Change>& out, const std::string& what, int before, int now) {
  if (before != now && before > 0 && now > 0)
    out.push_back({ChangeKind::kNumber, what, std::to_string(before), std::to_string(now)});
}

bool has_same(const Values& before, const Values& now, const std::string& name) {
  const auto was = before.find(name), is = now.find(name);
  if (was == before.end() || is == now.end()) return was == before.end() && is == now.end();
  return was->second == is->second;
}

/// Numbers that follow from options or from nodes are not listed beside these, and the number of
/// all workers not beside that of a node's.
void compare_sizes(std::vector<Change>& out, const RunRecord& before, const RunRecord& now) {
  const bool told = !has_same(before.options, now.options, "nproc-per-node") ||
                    !has_same(before.options, now.options, "nnodes") ||
                    std::ranges::count(out, ChangeKind::kNode, &Change::kind) > 0;
  if (told || before.workers == 0 || now.workers == 0) return;
  compare_numbers(out, "workers of a node", before.workers, now.workers);
  if (before.workers == now.workers)
    compare_numbers(out, "world size", before.world_size, now.world_size);
}

std::string hash_shown(const std::string& sha256) {
  return sha256.empty() ? sha256 : kHashBegins + sha256;
}

std::string utc_text(std::int64_t unix_ms) {
  const std::time_t seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  std::array<char, 64> text{};
  if (gmtime_r(&seconds, &parts) == nullptr) return "";
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

}  // namespace

std::vector<Change> changes_between(const RunRecord& before, const RunRecord& now) {
  using enum ChangeKind;
  std::vector<Change> out;
  compare(out, kFile, now.script.name, hash_shown(before.script.sha256),
          hash_shown(now.script.sha256));
  compare_arguments(out, before.arguments, now.arguments);
  compare(out, kOption, before.options, now.options);
  compare(out, kVariable, before.environment, now.environment);
  compare(out, kVersion, "torch", before.torch, now.torch);
  compare(out, kVersion, "Python", before.python, now.python);
  if (before.python == now.python || !both_known(before.python, now.python))
    compare(out, kProgram, "Python", before.python_path, now.python_path);
  compare(out, kVersion, "ddprun", before.ddprun, now.ddprun);
  compare_hosts(out, before.hosts, now.hosts);
  compare_sizes(out, before, now);
  compare(out, kVersion, "NVIDIA driver", before.driver, now.driver);
  compare(out, kVersion, "kernel", before.kernel, now.kernel);
  if (out.size() > kChangesMax) out.resize(kChangesMax);
  return out;
}

SinceGoodRun since_good_run(const RunRecord& good, const RunRecord& now) {
  return {.when = utc_text(good.ended_unix_ms),
          .age_s = std::max<std::int64_t>(now.ended_unix_ms / 1000 - good.ended_unix_ms / 1000, 0),
          .changes = changes_between(good, as_read(now))};
}

}  // namespace ddprun
