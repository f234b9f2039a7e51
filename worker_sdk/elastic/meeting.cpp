#include "worker_sdk/elastic/meeting.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

namespace ddprun::sdk {

namespace {

using nlohmann::json;

constexpr char kRefused[] = "refused";
constexpr std::size_t kSourcesMax = 2;  // at most this many members try to give their state

/// The store may have keys of the attempts before, and a program may loop over worlds twice.
std::string prefix_of_world(std::int64_t round) {
  static std::map<std::int64_t, int> worlds_of_round;
  return "ddprun/world/" + std::to_string(round) + "." + std::to_string(worlds_of_round[round]++);
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::string last_word(const std::string& key) { return key.substr(key.rfind('/') + 1); }

}  // namespace

WorldPlace WorldPlace::from_environment() {
  WorldPlace place;
  if (!environment_lookup(env::kRank) && !environment_lookup(env::kWorldSize)) {
    try {
      place.env = WorkerEnv::from_environment();
    } catch (const EnvironmentError&) {
      place.has_launcher = false;
    }
  } else {
    place.env = WorkerEnv::from_environment();
  }
  place.round = environment_lookup(env::kRound) ? place.env.round : place.env.restart_count;
  return place;
}

StorePtr WorldPlace::open_store(std::chrono::milliseconds timeout) const {
  if (!has_launcher) return c10::make_intrusive<c10d::HashStore>();
  const StorePtr store = connect_store(InitMethod{}, env, timeout);
  // Where rank 0 serves it, that one may be the first to leave this world.
  static auto& served = *new std::vector<StorePtr>;
  if (!env.use_agent_store) served.push_back(store);
  return c10::make_intrusive<c10d::PrefixStore>(prefix_of_world(round), store);
}

json Meeting::agree(const std::string& about, const json& mine, const Decide& decide) const {
  std::vector<std::string> keys;
  for (int rank = 0; rank < size_; ++rank) keys.push_back(about + "/" + std::to_string(rank));
  const std::string of_all = about + "/decision";
  store_->set(keys[static_cast<std::size_t>(rank_)], mine.dump());
  if (rank_ == 0) {
    wait(keys, about);
    std::vector<json> words;
    for (const std::string& key : keys) words.push_back(json::parse(store_->get_to_str(key)));
    store_->set(of_all, decide(words).dump());
  }
  wait({of_all}, about);
  json decision = json::parse(store_->get_to_str(of_all));
  if (decision.contains(kRefused)) throw std::runtime_error{decision[kRefused].get<std::string>()};
  return decision;
}

void Meeting::wait(const std::vector<std::string>& keys, const std::string& about) const try {
  store_->wait(keys, timeout_);
} catch (const c10::Error& e) {
  std::vector<std::string> missing;
  for (const std::string& key : keys)
    if (!store_->check({key})) missing.push_back(last_word(key));
  const bool by_rank_0 = missing == std::vector<std::string>{"decision"};
  throw std::runtime_error{(by_rank_0 ? "rank 0 has decided nothing"
                                      : "rank " + joined(missing, ", ") + " did not come") +
                           " within " + std::to_string(timeout_.count()) +
                           " ms, while entering a world (" + about +
                           "): " + e.what_without_backtrace()};
}

json word_of(const Loaded& loaded) {
  return json::array({loaded.name.round, loaded.name.step, loaded.whole, loaded.parts});
}

json decide_line(const std::vector<json>& words) {
  std::vector<Loaded> members;
  for (const json& word : words)
    members.push_back({{word.at(0), word.at(1)}, word.at(2), word.at(3)});
  if (std::string differing = differing_parts(members); !differing.empty())
    return {{kRefused, std::move(differing)}};
  std::optional<Line> line = choose_line(members);
  if (!line)
    return {
        {kRefused,
         "no worker has a whole state of the last step: an update has failed on all that had it"}};
  line->sources.resize(std::min(line->sources.size(), kSourcesMax));
  return {{"round", line->name.round},
          {"step", line->name.step},
          {"sources", line->sources},
          {"lacking", line->lacking}};
}

Line line_of(const json& decision) {
  return {
      {decision.at("round"), decision.at("step")}, decision.at("sources"), decision.at("lacking")};
}

json decide_digests(const std::vector<json>& words) {
  std::set<json> digests;
  for (const json& word : words)
    if (!word.is_null()) digests.insert(word);
  return {{"equal", digests.size() == 1}};
}

json decide_whether_states_differ(const std::vector<json>& digests) {
  std::vector<std::string> groups;  // their ranks, in the order of the first ones
  std::map<json, std::size_t> group_of;
  for (std::size_t rank = 0; rank < digests.size(); ++rank) {
    const auto [group, is_new] = group_of.emplace(digests[rank], groups.size());
    if (is_new)
      groups.push_back(std::to_string(rank));
    else
      groups[group->second] += ", " + std::to_string(rank);
  }
  if (groups.size() == 1) return json::object();
  return {{kRefused, "members begin with different states (DDPRUN_CHECK_STATE), by rank: " +
                         joined(groups, "; ") +
                         ". Does the program change a part of its state outside of "
                         "World::update()?"}};
}

}  // namespace ddprun::sdk
