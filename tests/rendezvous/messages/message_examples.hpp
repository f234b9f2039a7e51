// One message of each kind, with values that their fields can have.
#pragma once

#include <vector>

#include "rendezvous/messages/messages.hpp"

namespace ddprun {

inline const WorkerFailure kFailure{.host = "h1",
                                    .group_rank = 1,
                                    .rank = 5,
                                    .local_rank = 1,
                                    .pid = 4711,
                                    .status = {.signal = 11, .core_dumped = true},
                                    .time_unix_ms = 1'700'000'000'123,
                                    .message = "ValueError: x",
                                    .error_file = "/tmp/error.json",
                                    .last_heartbeat = "step 120, 0.4 s before",
                                    .last_lines = {"one", "two"}};

inline const RankProgress kProgress{.rank = 3,
                                    .ended = true,
                                    .watched = true,
                                    .groups = {{"0", 12, 11}, {"1", 3, 3}},
                                    .waits_in = "init_process_group",
                                    .idle = true,
                                    .busy = true,
                                    .still_ms = 1500,
                                    .paused_ms = 900,
                                    .step = 120,
                                    .steps = 1000,
                                    .has_loss = true,
                                    .loss = 0.25,
                                    .samples_per_second = 1e9,
                                    .left_s = 14};

inline const StackGroup kStackGroup{.ranks = "0,2-5",
                                    .doing = "waits in gloo:all_reduce",
                                    .stack = "load\ttrain.py\t12\n",
                                    .operation = "gloo:all_reduce",
                                    .group = "0 (default_pg)",
                                    .sequence = 12,
                                    .shapes = "[[10]] Float"};

inline const DebuggedRank kDebugged{3, true, "train.py:31", "breakpoint()"};

inline const WorkerEnd kWorkerEnd{.ranks = "0,2-5",
                                  .kind = FailureKind::kException,
                                  .blame = Blame::kFollows,
                                  .consequence = Consequence::kConnectionReset,
                                  .status = {.code = 1},
                                  .fault = {"KeyError", "'x'", "/t.py", 88, "step"},
                                  .stack = "step\t/t.py\t88",
                                  .says = "connection reset",
                                  .hint = "do this",
                                  .began_us = -5,
                                  .ended_us = 7};
inline const Cause kCause{.kind = FailureKind::kNodeLost,
                          .ranks = "4-7",
                          .node = "h2",
                          .status = {.signal = 9},
                          .fault = {"KeyError", "'x'", "/t.py", 88, "step"},
                          .stack = "step\t/t.py\t88",
                          .sentence = "node h2 was lost",
                          .hint = "do this",
                          .fingerprint = "node lost"};
inline const Followers kFollowers{"0,2", FailureKind::kSignal, "stopped by ddprun", 12'100, true};

inline const PartSource kSource{{7, 0, 2, 3, 90}, "h1:29400", "ticket"};

// The first message of each kind that a node may send, with every field that it can have.
inline std::vector<AgentMessage> messages_of_agents() {
  return {Join{.run_id = "job", .node = "n1", .host = "h1"},
          Beat{.load = NodeLoad{}, .checkpoints = KeptCheckpoints{"c-5", 7, 9, "c-4"}},
          Identify{},
          WorkerFailed{3, kFailure},
          WorkersFinished{3},
          WorkersStopped{4, "0,2"},
          Preempt{"SIGUSR1", 60'000},
          Leave{"SIGTERM"},
          Fitness{"fails its check: /data is full"},
          Progress{2, {kProgress}},
          Arrivals{2, 3, 60, {{"0", 7, 200, {50}}}},
          Inspected{3, kStackGroup, true},
          Debugging{2, {kDebugged}},
          HeldCheckpoints{{{7, 1, 2, 3, 90, 5}}, {{7, 0, 2, 3}}, 6, true, 100, 4711, "ticket"},
          CheckpointSaid{CheckpointSaid::What::kKept, 7, 1, true, 90, 5, 3, true, {"checkpoint-1"}},
          WorkersEnded{3, 120, {kWorkerEnd}},
          WorkersStarted{2},
          WorkersStay{2, true},
          Prepared{},
          Holding{2, 811},
          AskStatus{7},
          AskDump{7},
          Vote{3, 17},
          EndAcknowledged{},
          FinalStatus{{EndJob::Outcome::kFailed, 2, "", kFailure}},
          InviteWitness{"job-1", 3, 7, "h2:29400", 600'000}};
}

inline std::vector<CoordinatorMessage> messages_of_the_coordinator() {
  return {Joined{5000},
          Refused{"no"},
          Waiting{1, 2, 3, 4},
          Spare{2, 3, 1},
          Identity{"another job", 4711, "h1"},
          Beat{},
          StartRound{.round = 2,
                     .master_addr = "10.0.0.1",
                     .master_port = 29400,
                     .checkpoint = {7, {kSource}, true}},
          Prepare{{2, 3, 1}, {.round = 3, .master_addr = "10.0.0.1", .master_port = 29400}},
          StopRound{2, "why", 9, 1},
          LeaveAfter{2, 812},
          EndJob{EndJob::Outcome::kFailed, 2, "", kFailure},
          Inspect{2, 7, true, "1"},
          HangFound{2, {.missing_ranks = "1", .stacks = {kStackGroup}}},
          HangOver{2, 9},
          StragglerFound{2, {.ranks = "5"}},
          StragglerOver{2, "5"},
          RanksDebugged{2, {kDebugged}},
          CheckpointOrder{
              CheckpointOrder::What::kCounts, 7, 1, 2, true, {"checkpoint-1"}, 3, {kSource}},
          VerdictFound{{.cause = {.ranks = "1"}, .also = {kCause}, .followers = {kFollowers}}},
          Restarted{{.round = 4, .reason = "why"}},
          JobTimes{{{.round = 4, .reason = "why"}}, {.wall_s = 100}},
          StatusPart{7, "{}", true},
          DumpPart{7, "{}", true},
          Candidate{2},
          RequestVote{3, 17},
          Redirect{"h1:29400", 3},
          Dismiss{},
          Reconfigure{{{3, 7, 1}, 3, true, 2, "0-1"}, true, true, true}};
}

}  // namespace ddprun
