// Campaign decides what an agent asks of etcd, where etcd decides who coordinates a job: to find
// the coordinator, to become it, and to remain it. Pure.
//
// A job has two keys. `coordinator` says where the coordinator is. It lies under a lease, so that
// etcd removes it when the coordinator does not renew it. Its revision is the epoch of whoever has
// written it: etcd's revisions only grow. `world` says which nodes may have workers: it is written
// before a round begins, and whoever becomes the coordinator reads it. docs/protocol.md, section
// "etcd as the referee", says why no two coordinators ever both go on.
//
// It is passive. Referee hands it each event with its time, sends the one request that it wants to
// have sent, and hands it the answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.hpp"

namespace ddprun {

/// A coordinator that does not reach etcd may go on for so many heartbeat timeouts, a reserve less:
/// others take its nodes for dead then.
inline constexpr int kWorldTimeouts = 24;
/// How a job ended is kept for so long, for agents that have missed it.
inline constexpr std::chrono::seconds kVerdictKept{60};

/// What the key `coordinator` says.
struct KeyHolder {
  std::int64_t epoch = 0;  // the revision at which it was written
  std::string endpoint;    // HOST:PORT
  bool operator==(const KeyHolder&) const = default;
};

/// What the key `world` says.
struct WorldRecord {
  std::int64_t epoch = 0;          // the coordinator's that has written it; 0: there is none
  std::vector<std::string> nodes;  // ids of the agents that may have workers
  std::string verdict;             // how the job has ended, as an EndJob; "": it has not
  std::int64_t revision = 0;       // at which it was written; 0: there is none
  bool operator==(const WorldRecord&) const = default;
};

// clang-format off
// Requests. A lease that is 0 is none, an epoch or a revision that is 0 means that there is no key.
struct ReadKeys {};                                    // then KeysRead
struct GrantLease { std::chrono::seconds ttl; };       // then LeaseGranted
struct KeepLease { std::int64_t lease; };              // then LeaseKept
/// Then KeyTaken, or KeysRead when the epoch is another one.
struct TakeKey { std::int64_t from_epoch; std::int64_t lease; };
/// It replaces the record of `world.revision`. Then WorldPut, or KeysRead.
struct PutWorld { std::int64_t epoch; WorldRecord world; std::int64_t lease; };
/// It gives the key up, too. Then WorldPut, or KeysRead.
struct EndWorld { std::int64_t epoch; std::string verdict; std::int64_t lease; };
using EtcdRequest = std::variant<ReadKeys, GrantLease, KeepLease, TakeKey, PutWorld, EndWorld>;

struct KeysRead { std::optional<KeyHolder> holder; WorldRecord world; };
struct LeaseGranted { std::int64_t lease; std::chrono::seconds ttl; };
struct LeaseKept { std::chrono::seconds ttl; };        // 0: there is no such lease any more
struct KeyTaken { std::int64_t epoch; WorldRecord world; };
struct WorldPut { std::int64_t revision; };
struct NotAnswered { std::string why; };               // it may have been done all the same
using EtcdAnswer = std::variant<KeysRead, LeaseGranted, LeaseKept, KeyTaken, WorldPut, NotAnswered>;
// clang-format on

class Campaign {
 public:
  // Events.
  // clang-format off
  struct Seek {                 // the agent of this process needs the coordinator
    bool in_job = false;        // it was in a round of the job
    std::int64_t lost = 0;      // it has just lost the coordinator with this epoch; 0: none
    bool gone = false;          // and that one's process is gone
  };
  struct SeekNoMore {};
  struct BeginWorld { std::vector<std::string> nodes; };  // the coordinator here wants to
  struct JobEnded { std::string verdict; };               // the coordinator here has ended it
  struct Answer { EtcdAnswer answer; };                   // to the last request
  struct Tick {};
  using Event = std::variant<Seek, SeekNoMore, BeginWorld, JobEnded, Answer, Tick>;

  // Actions.
  struct Ask { EtcdRequest request; };
  struct Found { std::string endpoint; std::int64_t epoch; };   // the answer to Seek
  /// This process coordinates the job. `by_death`: the key was taken from one whose process is
  /// gone, so that a lease of that one's may not have ended.
  struct Elected { std::int64_t epoch; WorldRecord world; bool by_death; bool newcomer = false; };
  /// Nobody else coordinates before `alone`. Nobody else takes the nodes of the world for dead
  /// before `world`.
  struct Held { TimePoint alone; TimePoint world; };
  struct WorldBegun { std::vector<std::string> nodes; };        // the answer to BeginWorld
  struct WorldGone {};  // etcd has forgotten the world that this coordinator found
  struct Replaced { std::int64_t epoch; std::string endpoint; };  // somebody else coordinates
  using Action = std::variant<Ask, Found, Elected, Held, WorldBegun, WorldGone, Replaced>;
  // clang-format on

  struct Rules {
    std::string endpoint;  // where this process would coordinate, as HOST:PORT
    std::chrono::milliseconds heartbeat_timeout{5'000};
    int nodes_max = 1;
  };

  explicit Campaign(Rules rules) : rules_{std::move(rules)} {}

  /// Takes an event that has happened at `now`, and returns what is to be done. After an Ask the
  /// next one comes only after the Answer.
  std::vector<Action> step(const Event& event, TimePoint now);

  /// When a Tick is due; nullopt: only other events change anything.
  std::optional<TimePoint> next_tick() const;

  /// 0: it does not coordinate.
  std::int64_t epoch() const { return epoch_; }
  /// Whether how the job has ended is told, or there was nothing to be told.
  bool is_done() const { return !verdict_; }

 private:
  struct Lease {
    std::int64_t id = 0;
    std::chrono::milliseconds ttl{};
    TimePoint sent;  // when its last renewal was, that has been answered
  };

  void take(const EtcdAnswer& answer, TimePoint now);
  void keys_read(const KeysRead& keys, TimePoint now);
  void check_own_key(const KeysRead& keys, TimePoint now);
  void look_for_head(const KeysRead& keys, TimePoint now);
  void granted(const LeaseGranted& lease);
  void kept(const LeaseKept& answer, TimePoint now);
  void taken(const KeyTaken& answer, TimePoint now);
  void put(const WorldPut& answer);
  void ended();
  void not_answered(TimePoint now);
  void replaced(const KeyHolder& by);
  void tell_held();
  std::optional<EtcdRequest> next_request(TimePoint now);
  std::optional<EtcdRequest> as_head(TimePoint now);
  std::optional<EtcdRequest> run_for_it(TimePoint now);
  std::optional<EtcdRequest> write_world();
  std::optional<EtcdRequest> write_verdict();
  Lease& lease_to_grant();
  std::chrono::milliseconds try_again_after() const;
  std::chrono::seconds whole_seconds(std::chrono::milliseconds time) const;
  std::chrono::milliseconds poll_interval() const;

  Rules rules_;
  std::optional<EtcdRequest> asked_;  // and not answered yet
  TimePoint asked_at_;
  TimePoint pause_ends_;  // after a request that was not answered

  std::optional<Seek> seek_;
  TimePoint seeking_since_;
  TimePoint look_due_;
  std::optional<std::int64_t> take_from_;  // the key is to be had from that epoch
  bool by_death_ = false;

  std::int64_t epoch_ = 0;  // this coordinator's; 0: it is none
  bool has_key_ = false;    // as far as it knows
  Lease lease_;             // the lease that the key has
  TimePoint renewed_;       // when the lease was renewed that the key is still to be seen under
  bool look_at_key_ = false;
  TimePoint renewal_due_;

  std::vector<std::string> world_;  // that is written, or is to be
  bool world_wanted_ = false;
  bool world_written_ = false;
  bool found_world_ = false;  // a record of somebody else, or of before
  std::int64_t world_revision_ = 0;
  Lease world_lease_;
  Lease verdict_lease_;
  TimePoint world_due_;
  TimePoint alone_until_;

  std::optional<std::string> verdict_;  // to be told
  std::vector<Action> actions_;
};

}  // namespace ddprun
