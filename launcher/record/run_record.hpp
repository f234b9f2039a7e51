// RunRecord: the facts of a run that decide whether it works: its script, its command line and what
// it runs on. The last good run of a script leaves them as a file beside its logs. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/reports/changes.hpp"
#include "base/result.hpp"

namespace ddprun {

/// What the workers run.
struct RecordedScript {
  std::string name;    // as a person calls it: "train.py", "my.job"
  std::string path;    // its file; "-m NAME" for a module whose file was not found
  std::string sha256;  // the file's, in hexadecimal digits; "": not known
  bool operator==(const RecordedScript&) const = default;
};

/// Texts are "" where they are not known. No secret is in here; see hidden_secrets.hpp.
struct RunRecord {
  RecordedScript script;
  std::vector<std::string> arguments;              // the script's
  std::map<std::string, std::string> options;      // ddprun's, by name, if they were given
  std::map<std::string, std::string> environment;  // variables that matter to a training
  std::string ddprun;                              // its version
  std::string python_path;
  std::string python;  // its version
  std::string torch;   // its version
  std::string driver;  // the version of NVIDIA's driver
  std::string kernel;  // the release of the kernel
  std::vector<std::string> hosts;
  int workers = 0;  // on the node that writes this
  int world_size = 0;
  std::int64_t started_unix_ms = 0;
  std::int64_t ended_unix_ms = 0;
  bool operator==(const RunRecord&) const = default;
};

/// The schema's name and version.
inline constexpr char kRunRecordSchema[] = "ddprun.run-record/1";

/// Returns it as JSON, several lines with their ends. Texts and lists are cut to their limits.
std::string to_json(const RunRecord& record);

/// Reads what to_json() has written. Errors: kInvalid, with a sentence that names what does not
/// fit; also for the record of a later version.
Result<RunRecord> parse_run_record(std::string_view text);

/// Returns the record with all texts cut as they are when it is read from a file, so that the two
/// can be compared.
RunRecord as_read(const RunRecord& record);

/// to_json() never has more bytes.
extern const std::size_t kRunRecordBytesMax;

/// What differs, with what a user has most likely changed first. What one of the two does not know
/// is not compared. Of more than kChangesMax changes the last ones are left out.
std::vector<Change> changes_between(const RunRecord& before, const RunRecord& now);

/// Adds the time of the good run to what differs. Both are compared as files have them.
SinceGoodRun since_good_run(const RunRecord& good, const RunRecord& now);

}  // namespace ddprun
