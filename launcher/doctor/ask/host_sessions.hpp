// HostSessions: programs that were started for several hosts, with which lines of questions and
// answers are exchanged at the same time. What comes before the first answer is a greeting of the
// login, and is left out.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/asio.hpp"
#include "base/failure.hpp"
#include "base/process/spawn_pool.hpp"
#include "base/result.hpp"
#include "launcher/hosts/ssh_link.hpp"

namespace ddprun {

class HostSessions {
 public:
  /// How the session with a host stands.
  struct Session {
    bool open = false;                        // the program runs, as far as is known
    std::string answer;                       // the newest; "": none has come
    std::optional<std::int64_t> answered_us;  // when it came, by the clock of the day
    std::optional<ExitStatus> status;         // how the program ended; nullopt: it was not seen to
    std::vector<std::string> last_words;      // on its standard error
  };

  HostSessions() = default;
  HostSessions(const HostSessions&) = delete;
  HostSessions& operator=(const HostSessions&) = delete;
  /// Ends all programs: their input ends, and those that still run after a second are killed.
  ~HostSessions();

  /// Starts a program for the next host. `words.front()` is its path; `environment` has its
  /// variables, "NAME=value". It has the limit of open files that this process was started with:
  /// it is what the doctor reads there, and what srun hands on.
  void start(const std::vector<std::string>& words, const std::vector<std::string>& environment);

  /// Sends a line to a host.
  void send(std::size_t host, const std::string& line);

  /// Waits for one answer of each host that was sent a line, until the time is over. An answer that
  /// does not come closes the session.
  void wait_for_answers(std::chrono::milliseconds timeout);

  const Session& operator[](std::size_t host) const { return entries_[host].session; }

 private:
  struct Entry {
    std::shared_ptr<SshLink> link;  // nullptr: the program was not started, or has ended
    std::string inbox;
    bool waits = false;
    Session session;
  };

  Result<std::shared_ptr<SshLink>> connect(std::size_t host, const std::vector<std::string>& words,
                                           const std::vector<std::string>& environment);
  void hear(Entry& entry, std::string_view bytes);
  void run_until_gone(std::chrono::milliseconds timeout);

  SpawnPool pool_{1};
  asio::io_context io_{1};
  std::vector<Entry> entries_;
};

}  // namespace ddprun
