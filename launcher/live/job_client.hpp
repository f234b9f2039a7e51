// Asks running jobs, for the commands that show them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "live/http/http_client.hpp"
#include "live/jobs/job_folder.hpp"
#include "rendezvous/messages/job_status.hpp"

namespace ddprun {

/// The running jobs of this user on this machine.
std::vector<FoundJob> running_jobs();

/// What --help says of a word that find_job() takes.
inline constexpr char kJobHelp[] =
    "the beginning of its name, or a process id; not needed when one job runs";

/// The agents of the job that `word` means; see choose_job().
Result<std::vector<FoundJob>> find_job(const std::string& word);

/// A rank of a job.
struct FoundRank {
  std::vector<FoundJob> agents;  // the job's
  int rank = 0;
};
/// The rank that the words `[JOB] RANK` of a command mean. Errors: those of find_job(), and
/// kInvalid, which name the command.
Result<FoundRank> find_rank(const std::string& command, const std::vector<std::string>& words);

/// The node that has the rank; nullptr when none has.
const NodeStatus* node_of(const JobStatus& status, int rank);
/// Its agent, where that runs on this machine; nullptr when none does.
const FoundJob* agent_of(const std::vector<FoundJob>& agents, const JobStatus& status, int rank);

/// How people call the job of each of these agents: see job_names().
std::vector<std::string> names_of(const std::vector<FoundJob>& jobs);

/// A text as a parameter of a request has it.
std::string in_query(std::string_view text);

/// What a peer has said, as far as its first line, for a terminal.
std::string first_plain_line(std::string_view text);

/// Asks one agent. It runs `io` until the answer is there. Errors: those of ask_http(), and
/// kUnavailable with the agent's sentence.
Result<std::string> ask_job(boost::asio::io_context& io, const FoundJob& job,
                            HttpQuestion question);

/// Asks the job's agents in turn how it is, until one knows.
Result<JobStatus> status_of_job(boost::asio::io_context& io, const std::vector<FoundJob>& agents);

/// Asks the job's agents in turn what all of its workers do, until one knows: as text, or as JSON.
Result<std::string> dump_of_job(boost::asio::io_context& io, const std::vector<FoundJob>& agents,
                                bool as_json);

/// Asks all jobs at the same time. nullopt: that one does not answer.
std::vector<std::optional<JobStatus>> status_of_jobs(boost::asio::io_context& io,
                                                     const std::vector<FoundJob>& jobs);

/// Asks the status page at a URL, or at HOST:PORT; where a coordinator listens there, the error
/// says what it tells strangers of itself.
Result<JobStatus> status_at(boost::asio::io_context& io, const std::string& endpoint);

}  // namespace ddprun
