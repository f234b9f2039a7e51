#include "agent/reports/changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "agent/spec/launch_spec.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kChangesShown = 8;
constexpr std::size_t kHostsShown = 4;
constexpr std::size_t kValueBytesShown = 80;

/// "2 hours", in the largest unit of which there is a whole one.
std::string age_text(std::int64_t seconds) {
  struct Unit {
    std::int64_t seconds;
    const char* name;
  };
  constexpr Unit kUnits[] = {{86'400, "day"}, {3'600, "hour"}, {60, "minute"}, {1, "second"}};
  for (const Unit& unit : kUnits)
    if (const std::int64_t count = seconds / unit.seconds; count > 0)
      return counted(count, unit.name);
  return "less than a second";
}

/// Variables of the environment are written as a shell sets them.
std::string with_value(const Change& change, const std::string& value) {
  if (change.kind == ChangeKind::kOption && value == kFlagIsOn) return change.what;
  const char* between = change.kind == ChangeKind::kVariable  ? "="
                        : change.kind == ChangeKind::kProgram ? " is "
                                                              : " ";
  return change.what + between + cut(value, {kValueBytesShown});
}

std::string change_text(const Change& change) {
  if (change.kind == ChangeKind::kFile) return change.what + " changed";
  const std::string is = change.kind == ChangeKind::kArguments ? " are " : " is ";
  if (change.before.empty()) return with_value(change, change.now) + is + "new";
  if (change.now.empty()) return with_value(change, change.before) + is + "gone";
  return with_value(change, change.before) + " \u2192 " + cut(change.now, {kValueBytesShown});
}

/// "nodes h3, h4 are new"; adds nothing where there is no host.
void add_nodes(std::vector<std::string>& parts, const std::vector<std::string>& hosts,
               const char* how) {
  if (hosts.empty()) return;
  const std::size_t shown = std::min(hosts.size(), kHostsShown);
  std::string names = fmt::format("{}", fmt::join(hosts.begin(), hosts.begin() + shown, ", "));
  if (shown < hosts.size()) names += fmt::format(" and {} more", hosts.size() - shown);
  const bool one = hosts.size() == 1;
  parts.push_back(fmt::format("node{} {} {} {}", one ? "" : "s", names, one ? "is" : "are", how));
}

std::vector<std::string> parts_of(const std::vector<Change>& changes) {
  std::vector<std::string> parts, fresh, gone;
  for (const Change& change : changes)
    if (change.kind != ChangeKind::kNode)
      parts.push_back(change_text(change));
    else if (change.before.empty())
      fresh.push_back(change.now);
    else
      gone.push_back(change.before);
  add_nodes(parts, fresh, "new");
  add_nodes(parts, gone, "gone");
  return parts;
}

}  // namespace

std::string changes_text(const SinceGoodRun& since) {
  const std::string worked = fmt::format("since it worked, {} before", age_text(since.age_s));
  if (since.changes.empty())
    return "nothing that ddprun records has changed " + worked +
           " (imported modules are not compared)";
  std::vector<std::string> parts = parts_of(since.changes);
  const std::size_t left_out = parts.size() - std::min(parts.size(), kChangesShown);
  parts.resize(parts.size() - left_out);
  if (left_out > 0) parts.push_back(fmt::format("and {} more", left_out));
  return fmt::format("{}: {}", worked, fmt::join(parts, ", "));
}

}  // namespace ddprun
