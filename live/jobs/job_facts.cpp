#include "live/jobs/job_facts.hpp"

#include <nlohmann/json.hpp>

namespace ddprun {

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
                  .pid = in.value("pid", std::int64_t{0}),
                  .started_unix_ms = in.value("started_unix_ms", std::int64_t{0}),
                  .workers = in.value("workers", 0),
                  .run_directory = in.value("run_directory", ""),
                  .coordinator = in.value("coordinator", ""),
                  .coordinator_here = in.value("coordinator_here", false),
                  .status_url = in.value("status_url", "")};
} catch (const nlohmann::json::exception& e) {
  return invalid(std::string{"malformed facts of a job: "} + e.what());
}

}  // namespace ddprun
