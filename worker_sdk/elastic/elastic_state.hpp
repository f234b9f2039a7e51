// ElasticRun::State: what a training has in common in all its worlds.
#pragma once

#include <condition_variable>
#include <ctime>
#include <memory>
#include <mutex>

#include "ddprun/elastic_run.hpp"
#include "worker_sdk/elastic/agent_line.hpp"
#include "worker_sdk/elastic/kept_parts.hpp"
#include "worker_sdk/elastic/membership.hpp"
#include "worker_sdk/elastic/world_connections.hpp"
#include "worker_sdk/progress/counted_step.hpp"

namespace ddprun::sdk {

struct ElasticRun::State {
  explicit State(const ElasticOptions& given) : options{given}, membership{given.resize} {
    counted.expect(given.steps);
  }
  AgentLine::Orders orders();
  /// All members of the world have the line of that round. Either this answers a question about the
  /// world, or the line's thread does.
  void begin_training(std::int64_t line_round);
  /// The members of that round change. Frees the program's thread from waiting for them. Where that
  /// does not help, the agent hears of it.
  void end_world(const AgentLine& from, std::int64_t round);

  ElasticOptions options;
  KeptParts parts;
  Membership membership;
  CountedStep counted;
  /// The world that is entered, or was last, has these. The line's thread shuts them down.
  std::shared_ptr<WorldConnections> connections;
  std::mutex mutex;  // guards `connections`, and what the two threads do with `membership`
  std::condition_variable hold_ends;
  clockid_t processor_time{};       // belongs to the thread that passes through the worlds
  std::unique_ptr<AgentLine> line;  // nullptr: workers are restarted when members change
};

}  // namespace ddprun::sdk
