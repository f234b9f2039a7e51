// Tells the user, and a launcher above, how a run has ended.
#pragma once

#include <optional>
#include <string>

#include "agent/decisions/agent_end.hpp"
#include "agent/output/console.hpp"
#include "agent/reports/failure_texts.hpp"
#include "agent/reports/job_record.hpp"
#include "agent/reports/job_report.hpp"
#include "agent/spec/launch_spec.hpp"
#include "base/environment.hpp"
#include "base/failure.hpp"
#include "rendezvous/messages/job_terms.hpp"

namespace ddprun {

/// What is known of the end of a run besides how its agent ended.
struct EndFacts {
  RoundOutcome outcome;        // how this node's workers ended in the last round
  RecordedJob job = {};        // as the coordinator has told it
  JobTerms terms = {};         // the job's
  bool torchrun_block = true;  // whether a program may look for it, where no person reads along
};

/// What torchrun would say of the same end, with the worker of the verdict as the root cause;
/// nullopt: nothing, because no worker has failed.
/// `title` is the script as the user named it. Pure.
std::optional<TorchrunFailures> torchrun_failures(const AgentEnd& end, const EndFacts& facts,
                                                  const std::string& title);

/// Writes how the agent ended: the report of the job's failure, or a message. If standard error is
/// no terminal, torchrun's block comes first.
void report_end(const AgentEnd& end, const JobReport& report, const EndFacts& facts,
                const std::string& title, Console& err);

/// The report as it is written to files. `run` says which job and where its coordinator was. Pure.
JobReport job_report(const AgentEnd& end, const RunFacts& run, const EndFacts& facts);

/// The report of a job that goes on, and whose workers hang in that way; nullopt: they did, and
/// have gone on or were restarted.
JobReport job_report(const std::optional<HangReport>& hang, const std::string& run_id);

/// Returns the report of a job that could not begin.
JobReport job_report(const Error& error, const std::string& run_id);

/// Copies the record of the first failure to where a launcher above us looks for it
/// (TORCHELASTIC_ERROR_FILE), as when a ddprun runs a ddprun.
void hand_up_error_file(const WorkerFailure& failure, const EnvironmentLookup& environment);

}  // namespace ddprun
