// A job's numbers for Prometheus and other collectors, as OpenMetrics text
// (https://prometheus.io/docs/specs/om/open_metrics_spec/).
#pragma once

#include <string>
#include <vector>

#include "rendezvous/messages/job_status.hpp"

namespace ddprun {

inline constexpr char kMetricsType[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns the numbers of all jobs. What a job does not know has no sample. All of them are gauges,
/// so that the text means the same in Prometheus' older format.
std::string metrics_text(const std::vector<JobStatus>& jobs);

}  // namespace ddprun
