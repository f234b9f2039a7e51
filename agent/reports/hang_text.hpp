// How a hang and a dump look: for people, and for programs. Pure.
#pragma once

#include <string>
#include <vector>

#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/job_status.hpp"

namespace ddprun {

/// At most 24 lines without their ends: the sentence, and for each group of workers what they do
/// and their innermost frames. Missing ones come first, and have the most frames.
std::vector<std::string> hang_lines(const HangReport& report);

/// The schema's name and version. Later versions may have more fields.
inline constexpr char kDumpSchema[] = "ddprun.dump/1";

/// Lines for a terminal: what is known of a hang, who waits in what and who has not come, and for
/// each group of workers what they do, with all of their stack.
std::string dump_text(const JobDump& dump, const std::string& job);

/// Returns the dump as JSON, several lines with their ends. Its fields `hang` and `stacks` are
/// those of the report (JobReport); docs/live.md has the others. What does not apply is left out.
std::string dump_json(const JobDump& dump, const std::string& job);

}  // namespace ddprun
