// JobFolder: a folder of a running agent in which other programs of the same user find its job.
//
// It is $XDG_RUNTIME_DIR/ddprun/PID.RANDOM, else /tmp/ddprun-UID/PID.RANDOM (TMPDIR in place of
// /tmp; /var/tmp where neither can be written): all of them are private (0700). In it are
// `job.json` (JobFacts) and `control`, a Unix socket that speaks HTTP. A name that is too long for
// a socket's address does no harm, because it is reached by the folder's file descriptor.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/asio.hpp"
#include "base/environment.hpp"
#include "base/result.hpp"
#include "live/http/http_server.hpp"
#include "live/jobs/job_facts.hpp"

namespace ddprun {

class JobFolder {
 public:
  using Acceptor = asio::local::stream_protocol::acceptor;

  /// Makes a fresh folder. Nothing in it follows a link, and nothing is used that somebody else
  /// owns or may read. Errors: kUnavailable and kDenied, which name the folder.
  static Result<JobFolder> make(const EnvironmentLookup& environment);

  JobFolder(JobFolder&& other) noexcept;
  JobFolder& operator=(JobFolder&&) = delete;
  /// Removes the folder with all that is in it.
  ~JobFolder();

  const std::filesystem::path& path() const { return path_; }

  /// Writes a small file that only its owner can read, and returns its path. Errors: kUnavailable.
  Result<std::filesystem::path> write(const std::string& name, const std::string& text) const;

  /// Writes the facts, and listens for their readers. Errors: kUnavailable.
  Result<Acceptor> open(const asio::any_io_executor& executor, const JobFacts& facts) const;
  /// Writes the facts atomically: a reader sees all of them or the former ones. Errors:
  /// kUnavailable.
  Result<void> tell(const JobFacts& facts) const;

 private:
  static Result<JobFolder> make_in(const std::filesystem::path& base);

  JobFolder(std::filesystem::path path, int fd) : path_{std::move(path)}, fd_{fd} {}

  std::filesystem::path path_;
  int fd_;  // the folder; -1: moved from
};

/// A job's folder as another program finds it.
struct FoundJob {
  std::filesystem::path folder;
  JobFacts facts;
};

/// Returns the running jobs of this user, the oldest first. Folders of those that have gone are
/// removed on the way.
std::vector<FoundJob> find_jobs(const EnvironmentLookup& environment);

/// Connects to the control socket of a job. Errors: kUnavailable, when the job has just gone.
Result<HttpSocket> connect_to_job(const asio::any_io_executor& executor, const FoundJob& job);

}  // namespace ddprun
