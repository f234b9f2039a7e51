#include "live/jobs/job_facts.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace ddprun {

namespace {

/// 0 where it has none. A number that is none of integers is refused: the library would convert
/// 1e99, too.
template <typename Int>
Int integer_in(const nlohmann::json& in, const char* name) {
  const auto found = in.find(name);
  if (found == in.end()) return 0;
  if (!found->is_number_integer())
    throw std::invalid_argument{std::string{name} + " is no integer"};
  return found->get<Int>();
}

}  // namespace

std::string to_json(const JobFacts& facts) {
  const nlohmann::json out{{"schema", "ddprun.job/1"},
                           {"run_id", facts.run_id},
                           {"title", facts.title},
                           {"host", facts.host},
                           {"pid", facts.pid},
                           {"started_unix_ms", facts.started_unix_ms},
                           {"workers", facts.workers},
                           {"run_directory", facts.run_directory},
                           {"coordinator", facts.coordinator},
                           {"coordinator_here", facts.coordinator_here},
                           {"status_url", facts.status_url}};
  return out.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<JobFacts> parse_job_facts(std::string_view json) try {
  const auto in = nlohmann::json::parse(json);
  return JobFacts{.run_id = in.value("run_id", ""),
                  .title = in.value("title", ""),
                  .host = in.value("host", ""),
                  .pid = integer_in<std::int64_t>(in, "pid"),
                  .started_unix_ms = integer_in<std::int64_t>(in, "started_unix_ms"),
                  .workers = integer_in<int>(in, "workers"),
                  .run_directory = in.value("run_directory", ""),
                  .coordinator = in.value("coordinator", ""),
                  .coordinator_here = in.value("coordinator_here", false),
                  .status_url = in.value("status_url", "")};
} catch (const std::exception& e) {
  return invalid(std::string{"malformed facts of a job: "} + e.what());
}

}  // namespace ddprun
