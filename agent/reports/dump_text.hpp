// How a dump looks: for people, and for programs. Pure.
#pragma once

#include <string>

#include "rendezvous/messages/job_status.hpp"

namespace ddprun {

/// The schema's name and version. Later versions may have more fields.
inline constexpr char kDumpSchema[] = "ddprun.dump/1";

/// Lines for a terminal: what is known of a hang, who waits in what and who has not come, and for
/// each group of workers what they do, with all of their stack.
std::string dump_text(const JobDump& dump, const std::string& job);

/// Returns the dump as JSON, several lines with their ends. Its fields `hang` and `stacks` are
/// those of the report (JobReport); docs/live.md has the others. What does not apply is left out.
std::string dump_json(const JobDump& dump, const std::string& job);

}  // namespace ddprun
