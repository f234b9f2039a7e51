#include "launcher/settings/restart_options.hpp"

#include <fmt/format.h>

#include <string>

#include "base/numbers.hpp"
#include "launcher/settings/values.hpp"

namespace ddprun {

namespace {

constexpr char kProgress[] = "@progress";

Error no_budget(const Setting& setting) {
  const bool in_window = setting.text.find('/') != std::string::npos;
  return unexpected(
      setting, "expected N, N/TIME or N@progress: 3, 3/1h, 3@progress" +
                   (in_window ? fmt::format("; N/TIME is at most {} within at most 30 days (30d)",
                                            kRestartsPerWindowMax)
                              : ""));
}

Result<void> read_budget(const Setting& setting, RestartRules& rules) {
  std::string count = setting.text;
  if (count.ends_with(kProgress)) {
    rules.policy.counted = CountedRestarts::kSinceProgress;
    count.resize(count.size() - std::string_view{kProgress}.size());
  } else if (const std::size_t slash = count.find('/'); slash != std::string::npos) {
    const auto window = seconds_of(std::string_view{count}.substr(slash + 1));
    if (!window || window->count() == 0) return no_budget(setting);
    rules.policy.counted = CountedRestarts::kWithinWindow;
    rules.policy.window_ms = window->count();
    count.resize(slash);
  }
  const auto restarts = parse_number<int>(count);
  const bool in_window = rules.policy.counted == CountedRestarts::kWithinWindow;
  if (!restarts || *restarts < 0 || (in_window && *restarts > kRestartsPerWindowMax))
    return no_budget(setting);
  rules.restarts_max = *restarts;
  return {};
}

Result<void> read_delay(const Setting& setting, RestartPolicy& policy) {
  const std::vector<std::string> parts = split(setting.text, ':');
  const auto least = seconds_of(parts.front());
  const auto most = seconds_of(parts.back());
  if (parts.size() > 2 || !least || !most)
    return unexpected(setting,
                      "expected a time (5), or the first one and the longest one (0:60, 1s:10m)");
  if (*most < *least)
    return unexpected(setting, fmt::format("the longest pause ({}) is shorter than the first one "
                                           "({}): expected FIRST:MAX, as 0:60",
                                           parts.back(), parts.front()));
  policy.delay_min_ms = least->count();
  policy.delay_max_ms = most->count();
  return {};
}

}  // namespace

Result<RestartRules> parse_restarts(const Settings& settings) {
  RestartRules rules;
  if (const auto done = read_budget(settings["max-restarts"], rules); !done) return done.error();
  if (const auto done = read_delay(settings["restart-delay"], rules.policy); !done)
    return done.error();
  const Setting& same_failures = settings["same-failure-limit"];
  if (same_failures.text.empty()) return rules;
  const auto limit = parse_integer(same_failures, 2);
  if (!limit) return limit.error();
  rules.policy.same_failure_limit = *limit;
  return rules;
}

}  // namespace ddprun
