// NodeRecord: the failure of a node as a file keeps it, in JSON. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "rendezvous/messages/verdict.hpp"
#include "rendezvous/rounds/node_history.hpp"

namespace ddprun {

/// A record may have at most this many bytes.
inline constexpr std::size_t kNodeRecordBytesMax = 32 * 1024;

struct NodeRecord {
  std::string host;  // its name for people
  std::int64_t time_unix_ms = 0;
  FailureKind kind = FailureKind::kExitCode;
  std::string fingerprint;  // as Cause's
  std::string run_id;       // the job's
  std::string sentence;     // for people: one line
  bool operator==(const NodeRecord&) const = default;
};

/// The whole text of a file. What is too long for it is cut.
std::string to_json(const NodeRecord& record);
/// Errors: kInvalid, with what is wrong.
Result<NodeRecord> parse_node_record(std::string_view text);

/// That failure, at the time that the record has on another clock.
NodeFailure failure_at(TimePoint at, const NodeRecord& record);

/// ".node-failure.1764230400000.1a2b3c4d.json": by their names the oldest file comes first.
/// `unlike`: makes the name another one than that of a failure at the same time.
std::string node_file_name(std::int64_t time_unix_ms, std::uint32_t unlike);
/// Whether a file of that name is such a record.
bool is_node_file(std::string_view name);

}  // namespace ddprun
