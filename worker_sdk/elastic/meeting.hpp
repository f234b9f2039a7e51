// Where a worker is in a world, and how its members agree on something over their store.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ddprun/worker_env.hpp"
#include "worker_sdk/elastic/membership.hpp"
#include "worker_sdk/group/group_store.hpp"

namespace ddprun::sdk {

/// Where this worker is in a world.
struct WorldPlace {
  std::int64_t round = 0;
  WorkerEnv env;
  bool has_launcher = true;  // false: this worker is alone

  /// As the launcher has set it. Errors: EnvironmentError.
  static WorldPlace from_environment();

  /// Returns the store in which the members meet, as a part that is empty for each world. Errors:
  /// std::runtime_error when it cannot be reached within `timeout`.
  StorePtr open_store(std::chrono::milliseconds timeout) const;
};

/// Members of a world agree on something: each says a word, and rank 0 decides. The module for
/// Python does it with the same keys and words (worker_sdk/python/ddprun/_meeting.py).
class Meeting {
 public:
  using Decide = std::function<nlohmann::json(const std::vector<nlohmann::json>& words)>;

  Meeting(const WorkerEnv& env, StorePtr store, std::chrono::milliseconds timeout)
      : rank_{env.rank}, size_{env.world_size}, store_{std::move(store)}, timeout_{timeout} {}

  /// Returns the decision. Errors: std::runtime_error where it is a refusal, {"refused": SENTENCE},
  /// or somebody does not come within the timeout.
  nlohmann::json agree(const std::string& about, const nlohmann::json& mine,
                       const Decide& decide) const;

 private:
  void wait(const std::vector<std::string>& keys, const std::string& about) const;

  int rank_;
  int size_;
  StorePtr store_;
  std::chrono::milliseconds timeout_;
};

/// The word of a member about what it has loaded, and what rank 0 makes of all of them.
nlohmann::json word_of(const Loaded& loaded);
nlohmann::json decide_line(const std::vector<nlohmann::json>& words);
Line line_of(const nlohmann::json& decision);

/// Whether all that have a digest have the same one: {"equal": true}. null stands for none.
nlohmann::json decide_digests(const std::vector<nlohmann::json>& words);

/// Refuses members that do not have the same state, and names who has which.
nlohmann::json decide_whether_states_differ(const std::vector<nlohmann::json>& digests);

}  // namespace ddprun::sdk
