// Leadership says whether this coordinator leads the job, for how long, and when a round of its may
// begin: two leaders never both go on. docs/internals/succession.md has the rules and the proofs.
// Pure.
//
// It knows nothing of rounds but their numbers and nothing of workers but that a round has some.
// CoordinatorMachine tells it who comes and goes, asks it before a round begins or a job ends, and
// performs what it wants. This class itself is the leadership of a job with a single possible
// leader: it is always true. The others stand on the nodes' votes (Elected), on an etcd (EtcdLed),
// or on being the only server (ServerLed). Other rooms do not ask which one it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/leadership/coordinator_rules.hpp"
#include "rendezvous/leadership/extra_voter.hpp"
#include "rendezvous/leadership/round_recovery.hpp"
#include "rendezvous/leadership/voter_table.hpp"
#include "rendezvous/messages/messages.hpp"
#include "rendezvous/messages/voter_state.hpp"

namespace ddprun {

// What happens to the voters.
// clang-format off
struct VoterJoined {      // it has joined, or joined again
  NodeId node;
  VoterState state;
  JobCounters counters;
  std::string standby;    // where its agent would coordinate, as HOST:PORT; "": nowhere
  bool witness = false;
  bool is_voter = true;   // false: another agent may have its place
  bool resumed = false;   // its workers go on
};
struct VoterLeft { NodeId node; bool in_order = false; };  // with its vote, or lost
struct BecameVoter { NodeId node; };                      // its place is certain now
struct VoterAway { NodeId node; };                       // it is cut off, and may come back
struct VoterBeat { NodeId node; Beat beat; };
struct VoterAware { NodeId node; };                      // it has obeyed the round that began last
struct VoterVoted { NodeId node; Vote vote; };
struct WitnessAnswered { NodeId node; };                 // it knows the attempt that it got
// What others tell.
struct HigherEpoch { std::int64_t epoch; std::string coordinator; };  // somebody leads with it
struct AgentFollows { Leader leader; };                  // the agent in this process does
struct LeadersFound { Leader leader; bool all; };        // answers to AskLeaders; `all` have
                                                         // answered, or refuse connections
struct ElectedByEtcd {
  std::int64_t epoch;
  std::int64_t members_epoch = 0;       // the leader's that has written the members; 0: none
  std::vector<NodeId> members = {};     // nodes that may have workers by that
  bool by_death = false;                // a lease of the leader before may not have ended
  std::optional<EndJob> verdict = {};   // the job has ended so
  int attempt = 0;                      // the first round with them has it
};
/// No other leads the job before `alone`, and no other begins a round without a node of the
/// written members before `members`.
struct LeaseHeld { TimePoint alone; TimePoint members; };
struct MembersWritten { std::vector<NodeId> nodes; };    // the answer to WriteMembers
struct MembersExpired {};                                // no node has workers any more by what
                                                         // another leader has written
struct VerdictPublished {};                              // the answer to PublishVerdict
// What the rounds do.
struct RoundView {        // as it is now
  int round = 0;          // the last one that was sealed
  int attempt = 0;
  bool runs = false;
  int members = 0;        // nodes of the round that are here
  int spares = 0;         // nodes that wait for a place in it
  FirstSpare first_spare = {};
};
struct GatheringBegun {};                                // nodes are waited for
struct RoundWanted {                                     // enough nodes are ready
  std::function<std::vector<NodeId>()> members;          // these take a while to be found out, when
  std::function<int()> attempt;                          // there are thousands of them
};
struct JobEnded { EndJob verdict; };                     // or is about to
struct StepDone { RoundView view; };                     // after each event, or for next_tick()
using LeadershipEvent =
    std::variant<VoterJoined, VoterLeft, BecameVoter, VoterAway, VoterBeat, VoterAware, VoterVoted, WitnessAnswered,
                 HigherEpoch, AgentFollows, LeadersFound, ElectedByEtcd, LeaseHeld, MembersWritten,
                 MembersExpired, VerdictPublished, GatheringBegun, RoundWanted, JobEnded, StepDone>;

// What it wants to be done, in this order.
struct TellVoter { NodeId node; CoordinatorMessage message; };
struct AdmitVoter { NodeId node; JobCounters counters = {}; };  // it takes orders from now on; the
                                                         // job has reached at least that
struct AwaitVote { NodeId node; };                       // it takes none yet
struct DropWitness { NodeId node; std::string reason; };
/// This process leads from now on, with nothing but what the voters know: `counters` is the most
/// that those of earlier rounds have sent. With a verdict the job has ended. GatheringBegun
/// follows.
struct TakeOver { JobCounters counters; std::optional<EndJob> verdict = {}; };
struct StepDown { Leader leader; };                      // all nodes are sent to that one
struct AskLeaders { std::vector<std::string> endpoints; };  // then LeadersFound
struct InviteWitnesses { std::vector<std::string> endpoints; InviteWitness invitation; };
struct AnnounceLeader { std::int64_t epoch; std::string coordinator; std::vector<std::string> endpoints; };
/// Into etcd, for a round of that attempt; then MembersWritten.
struct WriteMembers { std::vector<NodeId> nodes; int attempt = 0; };
struct PublishVerdict { EndJob verdict; };               // in etcd
using LeadershipAction = std::variant<TellVoter, AdmitVoter, AwaitVote, DropWitness, TakeOver, StepDown,
                                      AskLeaders, InviteWitnesses, AnnounceLeader, WriteMembers,
                                      PublishVerdict>;
using LeadershipActions = std::vector<LeadershipAction>;
// clang-format on

/// What the nodes of a round learn about the leadership with it.
struct RoundTerms {
  std::int64_t epoch = 0;
  std::int64_t lease_ms = -1;    // as StartRound's
  Configuration committed = {};  // when the round begins
  std::string awaited = {};      // as Configuration's, of this round
  std::vector<Successor> successors = {};
  int leader_rank = -1;  // as StartRound's
};

/// The voter that has joined so.
Voter voter_of(const VoterJoined& event);

/// Where a node goes that joins here, when the agent in this process follows that leader. Nodes
/// that have lost the very leader that it follows come for a vote.
std::optional<Redirect> redirect_to(const Leader& followed, const Join& join);

/// The rank of the node among the members of a round; -1: it is none of them.
int rank_among(const std::vector<NodeId>& members, const NodeId& node);

/// What a leader may do only if may() permits it.
enum class Permission {
  kGiveOrders,
  kBeginRound,   // RoundWanted has come before
  kFinishRound,  // all workers have exited with 0, which ends the job
  kEndJob,       // with a verdict
};

/// Whether the workers of a node outlive its connection.
enum class Outlives {
  kNo,
  kWhileReachable,  // as long as somebody listens at the node
  kForLease,        // as above, and no longer than their lease, as Joined tells
};

class Leadership {
 public:
  Leadership() = default;
  virtual ~Leadership() = default;
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  /// Takes what has happened at `now`, and returns what is to be done.
  virtual LeadershipActions step(const LeadershipEvent& event, TimePoint now);
  /// When a StepDone is due; nullopt: only other events change anything.
  virtual std::optional<TimePoint> next_tick() const { return std::nullopt; }

  /// Whether this process leads the job.
  virtual bool leads() const { return true; }
  /// The epoch with which it leads; 0: it does not lead, or has no possible successor.
  virtual std::int64_t epoch() const { return 0; }
  /// The leader as far as it is known here: this process, if it has begun a round.
  virtual Leader leader() const { return {}; }
  /// Where the node has to go in place of joining here.
  virtual std::optional<Redirect> redirect(const Join&) const { return std::nullopt; }

  /// Whether this may be done now. Of thousands of nodes it is asked often, and looks now and then.
  virtual bool may(Permission, TimePoint) { return true; }
  /// Whether the leader has just found that too few follow: all its workers have to stop at once.
  virtual bool has_lost_quorum(TimePoint) { return false; }
  /// Until when leases of an earlier leader may hold up a round of enough nodes.
  virtual TimePoint old_leases_end() const { return {}; }
  /// Until when it is unknown which nodes have workers, so that even enough nodes do not end the
  /// wait.
  virtual TimePoint unknown_workers_end() const { return {}; }
  /// How many nodes a round needs, where the job needs `nodes_min`.
  virtual int nodes_needed(int nodes_min) const { return nodes_min; }

  /// A round begins now, with these nodes by rank.
  virtual RoundTerms begin_round(int, const std::vector<NodeId>&, TimePoint) { return {}; }
  /// Those that may follow this leader, of the round that was begun last.
  virtual std::vector<Successor> successors() const { return {}; }
  /// The configuration that is committed; none without voters.
  virtual Configuration committed() const { return {}; }
  /// Answers a heartbeat at `now`, but for the clock of the node.
  virtual Beat answer(TimePoint now) const;

  virtual Outlives outlives(const NodeId&) const { return Outlives::kNo; }
  /// Whether all nodes must have heard of the job's end before one may go.
  virtual bool holds_ends() const { return false; }
  /// Whether a node that misses that finds out later. Else none may go before all have heard.
  virtual bool remembers_end() const { return true; }
  /// Whether all nodes of the last round follow.
  virtual bool all_follow() const { return true; }
  /// Whether what the node knows of the job's end counts: it knows the last round.
  virtual bool knows_last_round(const NodeId&) const { return false; }
  /// The witness or the spare that votes beside the nodes of the round; "": none does.
  virtual NodeId extra_voter() const { return {}; }
  /// The round that goes on after this coordinator was started again; null: none ever does.
  virtual RoundRecovery* recovery() { return nullptr; }
};

/// Makes the leadership that the rules ask for.
std::unique_ptr<Leadership> make_leadership(const CoordinatorRules& rules);

}  // namespace ddprun
