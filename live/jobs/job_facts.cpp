#include "live/jobs/job_facts.hpp"

#include "base/json/json_fields.hpp"

namespace ddprun {

namespace fields {

// clang-format off
template <> inline constexpr auto kFields<JobFacts> = table(
    may_miss(uncut<&JobFacts::run_id>("run_id")),
    may_miss(uncut<&JobFacts::title>("title")),
    may_miss(uncut<&JobFacts::host>("host")), may_miss(field<&JobFacts::pid>("pid")),
    may_miss(field<&JobFacts::started_unix_ms>("started_unix_ms")),
    may_miss(field<&JobFacts::workers>("workers")),
    may_miss(uncut<&JobFacts::run_directory>("run_directory")),
    may_miss(uncut<&JobFacts::coordinator>("coordinator")),
    may_miss(field<&JobFacts::coordinator_here>("coordinator_here")),
    may_miss(uncut<&JobFacts::status_url>("status_url")));
// clang-format on

}  // namespace fields

std::string to_json(const JobFacts& facts) {
  return fields::to_text(facts, JsonStyle::kAscii, {"schema", "ddprun.job/1"}) + "\n";
}

Result<JobFacts> parse_job_facts(std::string_view json) try {
  return fields::from_text<JobFacts>(json, "facts");
} catch (const fields::Unfit& unfit) {
  return invalid(std::string{"malformed facts of a job: "} + unfit.what());
}

}  // namespace ddprun
