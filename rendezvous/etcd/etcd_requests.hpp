// What a job asks of etcd, and what etcd answers, without the words of either's protocol.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {

/// The verdict of a job is kept this long, for agents that have missed it.
inline constexpr std::chrono::seconds kVerdictKept{60};

/// One member of etcd has this long to answer, so that another one can be asked before a lease
/// ends.
inline std::chrono::milliseconds etcd_answer_timeout(std::chrono::milliseconds heartbeat_timeout) {
  using std::chrono::milliseconds;
  return std::clamp(heartbeat_timeout / 5, milliseconds{200}, milliseconds{2'000});
}

/// What the key `coordinator` says.
struct KeyHolder {
  std::int64_t epoch = 0;  // the revision at which it was written
  std::string endpoint;    // HOST:PORT
  bool operator==(const KeyHolder&) const = default;
};

/// What the key `members` says.
struct MembersRecord {
  std::int64_t epoch = 0;          // the coordinator's that has written it; 0: there is none
  std::vector<std::string> nodes;  // ids of the agents that may have workers
  std::string verdict;             // how the job has ended, as an EndJob; "": it has not
  std::int64_t revision = 0;       // at which it was written; 0: there is none
  int attempt = 0;                 // the first round with them has it
  bool operator==(const MembersRecord&) const = default;
};

// clang-format off
// Requests. A lease that is 0 is none, an epoch or a revision that is 0 means that there is no key.
struct ReadKeys {};                                    // then KeysRead
struct GrantLease { std::chrono::seconds ttl; };       // then LeaseGranted
struct KeepLease { std::int64_t lease; };              // then LeaseKept
/// Then KeyTaken, or KeysRead when the epoch is another one.
struct TakeKey { std::int64_t from_epoch; std::int64_t lease; };
/// It replaces the record of `members.revision`. Then RecordPut, or KeysRead.
struct PutMembers { std::int64_t epoch; MembersRecord members; std::int64_t lease; };
/// It gives the key up, too. Then RecordPut, or KeysRead.
struct PutVerdict { std::int64_t epoch; std::string verdict; std::int64_t lease; };
using EtcdRequest = std::variant<ReadKeys, GrantLease, KeepLease, TakeKey, PutMembers, PutVerdict>;

struct KeysRead { std::optional<KeyHolder> holder; MembersRecord members; };
struct LeaseGranted { std::int64_t lease; std::chrono::seconds ttl; };
struct LeaseKept { std::chrono::seconds ttl; };        // 0: there is no such lease any more
struct KeyTaken { std::int64_t epoch; MembersRecord members; };
struct RecordPut { std::int64_t revision; };
struct NotAnswered { std::string why; };               // it may have been done all the same
using EtcdAnswer = std::variant<KeysRead, LeaseGranted, LeaseKept, KeyTaken, RecordPut, NotAnswered>;
// clang-format on

}  // namespace ddprun
