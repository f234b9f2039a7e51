// Campaign decides what an agent asks of etcd, where etcd decides who coordinates a job: to find
// the coordinator, to become it, and to remain it. Pure.
//
// A job has two keys. `coordinator` says where the coordinator is. It lies under a lease, so that
// etcd removes it when the coordinator does not renew it. Its revision is the epoch of the process
// that wrote it: etcd's revisions only grow. `members` says which nodes may have workers: it is
// written before a round begins, and the next coordinator reads it. docs/internals/succession.md,
// section "etcd chooses the coordinator", says why no two coordinators ever both go on.
//
// It is passive. EtcdElection hands it each event with its time, sends the one request that it
// wants to have sent, and hands it the answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/etcd/etcd_requests.hpp"
#include "rendezvous/etcd/leader_key.hpp"
#include "rendezvous/etcd/members_writer.hpp"

namespace ddprun {

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
  // The coordinator here wants to, before a round of that attempt.
  struct WriteMembers { std::vector<std::string> nodes; int attempt = 0; };
  struct JobEnded { std::string verdict; };               // the coordinator here has ended it
  struct Answer { EtcdAnswer answer; };                   // to the last request
  struct Tick {};
  using Event = std::variant<Seek, SeekNoMore, WriteMembers, JobEnded, Answer, Tick>;

  // Actions.
  struct Ask { EtcdRequest request; };
  struct Found { std::string endpoint; std::int64_t epoch; };   // the answer to Seek
  /// This process coordinates the job. `by_death`: the key was taken from one whose process is
  /// gone, so that a lease of that one's may not have ended.
  struct Elected { std::int64_t epoch; MembersRecord members; bool by_death; bool newcomer = false; };
  /// No other coordinates before `alone`. No other takes the nodes that are written down for
  /// dead before `members`.
  struct Held { TimePoint alone; TimePoint members; };
  struct MembersWritten { std::vector<std::string> nodes; };        // the answer to WriteMembers
  struct MembersExpired {};  // etcd has forgotten those that this coordinator found
  struct VerdictWritten {};                                         // the answer to JobEnded
  struct Replaced { std::int64_t epoch; std::string endpoint; };  // somebody else coordinates
  using Action = std::variant<Ask, Found, Elected, Held, MembersWritten, MembersExpired, VerdictWritten,
                              Replaced>;
  // clang-format on

  struct Rules {
    std::string endpoint;  // where this process would coordinate, as HOST:PORT
    std::chrono::milliseconds heartbeat_timeout{5'000};
    int nodes_max = 1;
  };

  explicit Campaign(Rules rules);

  /// Takes an event that has happened at `now`, and returns what is to be done. After an Ask the
  /// next one comes only after the Answer.
  std::vector<Action> step(const Event& event, TimePoint now);

  /// When a Tick is due; nullopt: only other events change anything.
  std::optional<TimePoint> next_tick() const;

  /// 0: it does not coordinate.
  std::int64_t epoch() const { return epoch_; }
  /// Whether the verdict has been written, or there was none to write.
  bool is_done() const { return !verdict_; }

 private:
  void take(const EtcdAnswer& answer, TimePoint now);
  void keys_read(const KeysRead& keys, TimePoint now);
  void check_own_key(const KeysRead& keys, TimePoint now);
  void look_for_head(const KeysRead& keys, TimePoint now);
  void granted(const LeaseGranted& answer);
  void kept(const LeaseKept& answer, TimePoint now);
  void taken(const KeyTaken& answer, TimePoint now);
  void put(const RecordPut& answer);
  void not_answered(TimePoint now);
  void verdict_is_written();
  void replaced(const KeyHolder& by);
  void step_down();
  void tell_held();
  std::optional<EtcdRequest> next_request(TimePoint now);
  std::optional<EtcdRequest> as_head(TimePoint now);
  EtcdRequest run_for_it(TimePoint now) const;
  EtcdRequest write_verdict() const;
  std::chrono::milliseconds try_again_after() const;
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
  LeaderKey key_;
  MembersWriter members_;

  std::optional<std::string> verdict_;  // to be written
  std::int64_t verdict_lease_ = 0;
  std::vector<Action> actions_;
};

}  // namespace ddprun
