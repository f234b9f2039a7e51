// CoordinatorMachine decides for one job which nodes form a round, when the round is sealed, when
// it has to stop, and how the job ends.
//
// It goes through four states. It gathers nodes until enough are there, seals them into a round
// that runs, and when a worker fails or the nodes change it stops the round and gathers again,
// until the job has ended. docs/protocol.md, section "Rounds", has the rules.
//
// Nodes are known by the ids of their agents. An agent that connects again tells a newer
// incarnation, and its new connection replaces the old one, which may look alive for long after it
// has died.
//
// It is passive: it has no socket, no thread and no clock. Job hands it each event with the time at
// which it happened, and performs the actions that it returns, so a test can replay a day in a
// microsecond.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rendezvous/rounds/job_chronicle.hpp"
#include "rendezvous/rounds/joint_quorum.hpp"
#include "rendezvous/rounds/roster.hpp"
#include "rendezvous/verdict/inquest.hpp"
#include "rendezvous/watch/restart_clock.hpp"
#include "rendezvous/watch/round_dump.hpp"
#include "rendezvous/watch/round_watch.hpp"
#include "rendezvous/wire/job_status.hpp"
#include "rendezvous/wire/leader.hpp"
#include "rendezvous/wire/messages.hpp"

namespace ddprun {

/// So many spares may wait beside as many as a round has nodes: all nodes of a job may be replaced
/// at one time, and some may come back before their dead agents are noticed.
inline constexpr std::size_t kSparesReserve = 16;
/// What a node may take to stop its workers, beyond the time that it has told: the kernel gets 10 s
/// to end them after SIGKILL, and 10 s for what they left behind (see AgentMachine), and the
/// messages take their time, too.
inline constexpr std::chrono::milliseconds kStoppingReserve{30'000};
/// A node that is heard so long after another one has asked for its rank is alive, and what was
/// heard is no message that a dead one has left behind.
inline constexpr std::chrono::milliseconds kProofOfLifeMax{5'000};

/// Who has just been elected waits so long for the promises of others that are there.
inline constexpr std::chrono::milliseconds kPromisePatience{100};
/// A coordinator that was elected waits for nodes of the last round as long as they come this soon
/// one after the other, and not longer than that in all: each that comes later makes a new round.
inline constexpr std::chrono::milliseconds kArrivalPause{100};
inline constexpr std::chrono::milliseconds kArrivalsMax{1'000};
/// All nodes have so long to say that they have heard of the job's end, before they are let go.
inline constexpr std::chrono::milliseconds kEndingPatience{1'000};

// These events may happen. An agent's first message over a connection is its Join; the other
// messages of a connection that is no node's are passed over.
// clang-format off
struct FromPeer { PeerId peer; AgentMessage message; std::string address = {}; };  // of its host
struct PeerLost { PeerId peer; std::string reason; };  // the connection has ended
struct Probed { NodeId node; bool refused; };         // the answer to Probe
struct HigherEpoch { std::int64_t epoch; std::string coordinator; };  // there is a later one
struct AgentFollows { Leader leader; };                       // the agent in this process is
// Those who listen at places_to_ask() were asked who leads. `all`: each has answered, or nobody
// listens there.
struct LeadersFound { Leader leader; bool all; };
struct StoreGone { int round; std::string reason; };   // OpenStore's port is not free
struct Tick {};                                        // the time has come: see next_tick()
// With a referee (RoundRules::has_referee) these, too.
struct Elected {  // this coordinates the job now
  std::int64_t epoch;
  std::int64_t world_epoch = 0;              // whose world was written down last; 0: nobody's
  std::vector<NodeId> world = {};            // the nodes that may have workers by that
  bool by_death = false;                     // a lease of the one before may not have ended
  std::optional<EndJob> verdict = {};        // the job has ended so
};
struct Held {       // nobody else coordinates the job before `alone`; before `world`, nobody else
  TimePoint alone;  // begins a round without a node of the world that was written down
  TimePoint world;
};
struct WorldGone {};  // nobody can have workers any more by what was written down before
struct WorldBegun { std::vector<NodeId> nodes; };      // the answer to BeginWorld
using CoordinatorEvent = std::variant<FromPeer, PeerLost, Probed, HigherEpoch, AgentFollows, LeadersFound, Tick,
                                StoreGone, Elected, Held, WorldBegun, WorldGone>;

// These actions are to be performed, in the order in which step() returns them.
struct SendTo { PeerId peer; CoordinatorMessage message; };
struct DropPeer { PeerId peer; std::string reason; };  // send what is queued, close the connection
// Empty the store and close its connections. With a port: listen there, or StoreGone.
struct OpenStore { int round; int world_size; int port = 0; };
struct Probe { NodeId node; std::string endpoint; };   // does anybody listen there? then Probed
struct AnnounceLeader { std::int64_t epoch; std::vector<std::string> endpoints; };  // tell it there, again
                                                       // and again, to who coordinates the job
struct BeginWorld { std::vector<NodeId> nodes; };       // let the referee write down that these may
                                                       // have workers, then WorldBegun
struct TellVerdict { EndJob verdict; };                // to the referee
using CoordinatorAction =
    std::variant<SendTo, DropPeer, OpenStore, Probe, AnnounceLeader, BeginWorld, TellVerdict>;
// clang-format on

class CoordinatorMachine {
 public:
  /// A job that begins to wait for its nodes at `now`.
  CoordinatorMachine(RoundRules rules, TimePoint now);

  /// Takes an event that has happened at `now`, and returns what is to be done. `now` never goes
  /// back from one call to the next.
  std::vector<CoordinatorAction> step(const CoordinatorEvent& event, TimePoint now);

  /// Sets the store's port, which is known only after the rules when the system has chosen it.
  void serve_store_at(int port) { rules_.master_port = port; }

  /// Returns when the next Tick is due; nullopt while only events from nodes can change anything.
  std::optional<TimePoint> next_tick() const;

  bool ended() const { return state_ == State::kEnded; }
  /// Its epoch; 0: it coordinates nothing, or has no successors.
  std::int64_t epoch() const { return coordinates() ? epoch_ : 0; }
  /// Whether it is to begin the job, and LeadersFound is awaited for that.
  bool may_begin_job() const { return state_ == State::kStandby && may_begin_job_; }
  std::vector<std::string> places_to_ask() const;
  /// Whether a witness is looked for, at the job's places.
  bool wants_witness() const;
  /// What that one is told.
  InviteWitness invitation() const;
  /// Whose job it is, as far as is known here: this coordinator's, if it has begun a round.
  Leader leader() const;
  bool has_nodes() const { return !nodes_.empty(); }
  const RoundRules& rules() const { return rules_; }

  /// How far the workers of the round are, and whether they hang.
  const RoundWatch& watch() const { return watch_; }

  /// What the restarts cost, and where the time of the job goes.
  const RestartClock& times() const { return times_; }
  /// Tells how the job is at `now`, when the time of day is `now_unix_ms`. It takes as long as
  /// there are nodes and ranks.
  JobStatus status(TimePoint now, std::int64_t now_unix_ms) const;

 private:
  enum class State { kGathering, kRunning, kStopping, kEnded, kEnding, kStandby };
  using Node = Roster::Node;
  using Phase = Roster::Phase;

  void receive(const FromPeer& event, TimePoint now);
  void answer_beat(Node& node, const Beat& beat, TimePoint now);
  void worker_failed(Node& node, const WorkerFailed& report, TimePoint now);
  void workers_finished(Node& node, const WorkersFinished& report);
  void workers_stopped(Node& node, const WorkersStopped& report);
  void preempt(Node& node, const Preempt& report);
  void workers_started(Node& node, const WorkersStarted& report, TimePoint now);
  void note_progress(const Node& node, const Progress& report, TimePoint now);
  void take_progress(const RankProgress& told, TimePoint now);

  // Who comes, and who goes.
  void admit(PeerId peer, const Join& join, const std::string& address, TimePoint now);
  std::optional<std::string> refusal_of(const Join& join);
  void add(PeerId peer, const Join& join, const std::string& address, TimePoint now);
  void reconnect(Node& node, PeerId peer, const Join& join, TimePoint now);
  void welcome(const Node& node);
  void refuse(PeerId peer, const std::string& reason);
  void refuse_contenders(const Node& node, TimePoint now);
  void leave(Node& node, const Leave& message, TimePoint now);
  void lose(Node& node, const std::string& reason, TimePoint since);
  void lose_silent(TimePoint now);
  void lose_unstopped(TimePoint now);
  void forgive_after_own_sleep(TimePoint now);

  // Who follows a coordinator that is lost: round_succession.cpp, round_authority.cpp.
  bool coordinates() const { return state_ != State::kStandby; }
  void take_standing(Node& node, TimePoint now);
  bool obeys(const Node& node) const;
  void hear_voter(Node& node);
  void become_candidate();
  void call_election(Node& newcomer);
  bool can_elect() const;
  void count_voter(const Node& node);
  bool head_is_dead() const;
  void ask(Node& node);
  void count_promise(const Node& node);
  void promised(Node& node, const Vote& promise, TimePoint now);
  void take_over(TimePoint now);
  void take_on(Node& node, TimePoint now);
  void let_in(const Node& node, Joined answer, TimePoint now);
  Beat committed_beat(TimePoint now) const;
  void step_down(const HigherEpoch& by);
  Votes votes_of(const std::function<bool(const Node&)>& counts) const;
  TimePoint authority_ends() const;
  TimePoint held_until(const Configuration& round, int left) const;
  int votes_needed(const Configuration& round, int left) const;
  int nodes_needed() const;
  bool has_authority(TimePoint now) const;
  std::int64_t lease_ms(TimePoint now) const;
  void check_authority(TimePoint now);
  bool reigns(TimePoint now);
  bool may_begin(TimePoint now);
  bool may_end(TimePoint now);
  bool may_finish(TimePoint now);
  bool old_world_is_gone(TimePoint now) const;
  bool head_was_seated() const;
  bool waits_for_voters(TimePoint now) const;
  void confirm(Node& node, std::int64_t echo_us, TimePoint now);
  std::string awaited() const;
  void note_round(const std::vector<Node*>& members);
  void begin_to_settle(const Configuration& round);
  bool has_to_know(const Node& node) const;
  void heard_of_round(Node& node, const ConfigurationVersion& round);
  void settle_if_known();
  std::vector<std::string> successors(const std::vector<Node*>& members) const;

  // Where a job has several places for its coordinator: round_places.cpp.
  void looked_around(const LeadersFound& seen, TimePoint now);
  void begin_job(TimePoint now);
  bool knows_better(const Join& join) const;
  void send_to_leader(PeerId peer);
  std::vector<std::string> heralded() const;

  // Where a witness votes, too: round_witness.cpp.
  bool may_have_witness() const;
  void change_voters(TimePoint now);
  bool may_change_voters(TimePoint now) const;
  void begin_edition(const Node* voting);
  void drop_idle_witness();
  void release_witness();
  bool nodes_elect_alone() const;
  bool witness_knows_attempt();
  bool witness_knows_round() const;

  // Where a referee decides who coordinates the job: round_referee.cpp.
  void elected(const Elected& event, TimePoint now);
  void world_begun(const WorldBegun& event);
  void world_gone();
  TimePoint held_by_referee() const;
  bool may_begin_by_referee(TimePoint now);
  bool last_world_is_gone(TimePoint now) const;

  // Where a `ddprun server` was started again: round_hosted.cpp.
  struct Returning {         // the round of before, which goes on
    HostedAssignment round;  // as its first node has told
    std::set<int> absent;    // group ranks of nodes that were not heard of yet
  };
  TimePoint workers_of_before_end() const;
  bool workers_may_be_left(TimePoint now) const;
  bool returns(const Join& join, TimePoint now) const;
  bool nobody_knows_more(const Join& join) const;
  void go_on_with(const Join& join, TimePoint now);
  void take_back(PeerId peer, const Join& join, const std::string& address, TimePoint now);
  void came_back_stopped(const Node& node);
  void give_up_absent(TimePoint now);
  void store_gone(const StoreGone& event);

  // Who is away for a while: its connection broke, and its workers run on.
  void disconnected(Node& node, const std::string& reason, TimePoint now);
  bool may_come_back(const Node& node) const;
  bool keeps_workers(const Node& node) const;
  bool resumes(const Node& node, const Join& join) const;
  void resume(Node& node, PeerId peer, const Join& join, TimePoint now);
  void send_to_stop(PeerId peer);
  void knocked(const Probed& answer, TimePoint now);

  // What becomes of workers that hang.
  void look_for_hangs(TimePoint now);
  void tell_members(const CoordinatorMessage& message);
  void act_on_hang(const HangReport& report);

  // What becomes of a round in which workers fail.
  struct Failure {  // that stops the round
    EndJob last;    // how the job ends, where no attempt is left
    std::string reason;
    Clock::duration noticed_after;
  };
  struct AwaitedCause {  // of a failure that follows from another one
    Failure failure;     // it stops the round when no cause comes
    bool asked;          // the nodes are asked who is missing
    TimePoint until;
  };
  void await_cause(AwaitedCause awaited);
  bool has_awaited_cause(TimePoint now) const;
  bool ask_for_missing(const WorkerFailed& report, TimePoint now);
  void stop_because_of(Failure failure);

  // What all workers do, for those who ask.
  void ask_dump(const Node& node, const AskDump& question, TimePoint now);
  void answer_dumps(TimePoint now);
  void send_dump(const RoundDump::Asker& asker, const std::string& text);
  void tell_state(JobDump& dump) const;

  // What restarts cost.
  static Clock::duration age_of(const WorkerFailed& report);
  void tell_restarts(TimePoint now);
  void tell_times(TimePoint now);

  // The states of one who coordinates, and what leads from one to the next.
  void advance(TimePoint now);
  void gather(TimePoint now);
  void tell_verdict(EndJob& end);
  void time_last_call(TimePoint now);
  bool ready_to_seal(TimePoint now);
  TimePoint gathering_ends() const;
  TimePoint gives_up_at() const;
  TimePoint waiting_ends() const;
  void seal();
  void stop_round(const std::string& reason, std::int64_t checkpoint_ms = 0, bool at_once = false);
  void count_failure(EndJob last);
  void end(EndJob verdict);
  bool is_over() const { return state_ == State::kEnding || state_ == State::kEnded; }
  bool is_held(const EndJob& verdict) const;
  void end_heard(Node& node);
  void dismiss();
  void take_testament(Node& node, const FinalStatus& message);
  std::optional<EndJob> testament() const;

  bool is_member(const Node& node);
  std::optional<EndJob> go_on_from(const std::vector<Node*>& members);
  int members() const;
  void chronicle_loss(const Node& node, const std::string& reason);
  void tell_nodes(JobStatus& status, TimePoint now) const;
  void tell_ranks(JobStatus& status) const;
  void tell_progress(JobStatus& status, TimePoint now) const;
  void tell_troubles(JobStatus& status) const;
  void chronicle_progress(TimePoint now);
  EndJob timed_out() const;
  int next_attempt() const;
  Joined joined_answer(const Node& node, TimePoint now) const;
  void send(PeerId peer, CoordinatorMessage message);
  void send_to_nodes(const CoordinatorMessage& message);

  RoundRules rules_;
  State state_ = State::kGathering;
  int round_ = 0;     // the last one that was sealed; 0: none was
  int attempt_ = 0;   // failure restarts so far
  int arrivals_ = 0;  // nodes that were admitted so far
  Roster nodes_;
  RoundWatch watch_;
  std::optional<AwaitedCause> awaits_cause_;
  RoundDump dump_;
  RestartClock times_;
  Clock::duration noticed_after_{0};  // what stops the round had happened so long before
  Inquest inquest_;                   // into how the workers of the round ended
  std::optional<Verdict> found_;      // why the last round that failed did so
  std::optional<EndJob> verdict_;     // how the job ends, as soon as every node has stopped
  std::int64_t epoch_ = 0;        // of this coordinator; 0: it is none yet, or has no successors
  std::int64_t asked_epoch_ = 0;  // the last one for which promises were asked
  std::int64_t given_ = 0;        // the greatest that a node had promised when it came
  Votes promises_;                // of the nodes that are here, for asked_epoch_
  bool recount_ = true;           // these, before the next one is added
  Votes voters_;                  // of the nodes that are here
  bool recount_voters_ = true;
  TimePoint may_begin_due_;   // when it is looked at again whether a round may begin
  bool passed_over_ = false;  // something has happened before that
  JointQuorum quorum_;
  bool may_begin_job_ = false;    // see RoundRules::begins_job
  Leader leader_;                 // of the agent in this process
  Leader told_;                   // of the job, by others, before it was begun here
  bool elected_ = false;          // by votes, and no round of its own has settled yet
  bool forgotten_ = false;        // it was elected in spite of a round that never settles
  int unaware_ = 0;               // nodes that may not know of the last round yet
  bool settles_ = false;          // it settles once all of these do
  bool stopped_at_once_ = false;  // the round, without authority
  int unheard_ = 0;               // nodes that may not know that the job is over
  TimePoint ending_ends_;         // they are waited for until then
  int left_ = 0;                  // nodes of the settled round that have left for good
  int round_nodes_ = 0;           // in the last round that was begun here
  NodeId beside_;                 // of the agent in this process, if it is here
  NodeId witness_;                // that is here; "": none is
  int witness_told_ = 0;          // the last attempt that it was told of
  NodeId voting_witness_;         // votes in the last round; "": none does
  TimePoint voters_due_;          // when it is looked at again whether others are to vote
  /// Another coordinator may count on nodes that have come until then, as they say: see
  /// authority_ends(). Leases of workers of before end with that.
  TimePoint fences_end_;
  TimePoint last_came_;                 // when a node has joined last
  TimePoint authority_until_;           // as it was when it was looked at
  TimePoint authority_due_;             // when it is looked at again
  Held held_{};                         // what the referee has told last
  std::int64_t world_epoch_ = 0;        // of this coordinator's world that was written down last
  std::vector<NodeId> world_;           // what is written down now; none: that is not known
  std::vector<NodeId> asked_world_;     // what is to be written down
  std::int64_t last_world_epoch_ = 0;   // of the world of before
  std::set<NodeId> last_world_;         // those who may have workers of before
  JobChronicle chronicle_;              // for those who look at the job: it decides nothing
  std::optional<Returning> returning_;  // until the next round is sealed
  bool store_is_new_ = false;           // what the workers had in the store is gone
  std::string last_loss_;               // says to the user why the job may be short of nodes
  TimePoint gathering_since_;
  TimePoint stopping_ends_;                  // who has not stopped by then is dropped
  std::optional<TimePoint> last_call_ends_;  // set while MIN nodes are ready for the first round
  TimePoint last_step_;
  std::vector<CoordinatorAction> actions_;  // of the step that is under way
};

}  // namespace ddprun
