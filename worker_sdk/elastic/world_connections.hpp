// WorldConnections: the connections of a world. A worker that waits in a collective is freed when
// they are shut down.
//
// LibTorch has no abort for Gloo. What it waits for comes over TCP, so the sockets that appear
// while the group is made are noted, and shut down when the world has to be left: each call of the
// group then fails at once, here and at its other end. Noted is a duplicate, whose number no
// other file can have been given in between.
//
// A member that is lost after it has sent its address, and before it has connected, leaves nothing
// to shut down: Gloo waits for it at a socket that listens. So this process connects there in its
// place, and hangs up.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

namespace ddprun::sdk {

/// Those TCP connections of this process that have appeared since it was made. Any thread may call
/// it.
class WorldConnections {
 public:
  explicit WorldConnections(int members = 0);
  ~WorldConnections() { close(); }
  WorldConnections(const WorldConnections&) = delete;
  WorldConnections& operator=(const WorldConnections&) = delete;

  /// Notes those that have appeared since the last time.
  void note();
  /// Whether the other end of one of them has closed it.
  bool hung_up() const;
  /// Makes every call fail that waits for one of them.
  void shut_down() const;
  /// Makes every call fail that waits for a member to connect.
  void hang_up_for_members() const;
  /// The world is left.
  void close();
  /// Waits until close() was called, or the time is over. Returns whether it was.
  bool await_close(std::chrono::milliseconds time);

 private:
  mutable std::mutex mutex_;
  std::condition_variable closed_;
  bool is_closed_ = false;
  const int members_;
  std::set<ino_t> before_;
  std::map<ino_t, int> noted_;      // duplicates of their descriptors
  std::map<ino_t, int> listening_;  // where members connect, duplicates, too
};

}  // namespace ddprun::sdk
