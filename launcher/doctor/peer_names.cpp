#include "launcher/doctor/peer_names.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "base/system/left_behind.hpp"
#include "launcher/doctor/name_probe.hpp"
#include "launcher/doctor/reading_json.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

constexpr auto kNamesTimeout = 3s;
// Its answer is read after the other nodes were visited, which takes up to 12 s, and the launcher
// waits for 15 s. What does not fit into the pipe is written only then.
constexpr auto kChildTimeout = 14s;
constexpr std::size_t kThreadsMax = 16;

/// Names that several threads look up. A thread that waits for a dead server is left behind.
class Lookups : public std::enable_shared_from_this<Lookups> {
 public:
  explicit Lookups(std::vector<PeerNameReading> readings) : readings_{std::move(readings)} {}

  /// Returns what is known when all are done, or when the time is over.
  std::vector<PeerNameReading> look_up_all() {
    if (start_threads() == 0) look_up_some();
    std::unique_lock lock{mutex_};
    all_done_.wait_for(lock, kNamesTimeout, [this] { return done_ == readings_.size(); });
    return readings_;
  }

 private:
  /// Returns how many there are. The user's limit of processes may allow no more (RLIMIT_NPROC).
  std::size_t start_threads() {
    const std::size_t wanted = std::min(readings_.size(), kThreadsMax);
    std::size_t started = 0;
    while (started < wanted &&
           start_left_behind([held = shared_from_this()] { held->look_up_some(); }))
      ++started;
    return started;
  }

  void look_up_some() {
    std::unique_lock lock{mutex_};
    while (next_ < readings_.size()) {
      const std::size_t mine = next_++;
      const std::string name = readings_[mine].lookup.question;
      lock.unlock();
      LookupReading found = look_up_name(name);
      lock.lock();
      readings_[mine].lookup = std::move(found);
      if (++done_ == readings_.size()) all_done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable all_done_;
  std::vector<PeerNameReading> readings_;
  std::size_t next_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

PeerNames::PeerNames(const std::vector<Peer>& peers) {
  for (const Peer& peer : peers)
    if (!peer.name.empty()) readings_.push_back({peer.node, LookupReading{.question = peer.name}});
  if (readings_.empty()) return;
  child_.emplace(AskedChild::start(kChildTimeout, [this] {
    // The process ends with this answer, and its threads with it.
    return to_line(
        NodeReading{.peers = {.peer_names = std::make_shared<Lookups>(readings_)->look_up_all()}});
  }));
}

std::vector<PeerNameReading> PeerNames::answers() {
  if (!child_) return {};
  const auto answer = child_->answer();
  if (!answer && answer.error().kind != Error::Kind::kTimeout) return {};  // nobody has asked
  if (auto told = answer ? parse_reading(*answer) : Result<NodeReading>{answer.error()})
    readings_ = std::move(told->peers.peer_names);
  return readings_;
}

}  // namespace ddprun
