// HostTalks: programs that were started for several hosts, with which lines of questions and
// answers are exchanged at the same time. What comes before the first answer is a greeting of the
// login, and is left out.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/failure.hpp"
#include "base/result.hpp"

namespace ddprun {

class HostTalks {
 public:
  /// How the talk with a host stands.
  struct Talk {
    bool open = false;                        // the program runs, as far as is known
    std::string answer;                       // the newest; "": none has come
    std::optional<std::int64_t> answered_us;  // when it came, by the clock of the day
    std::optional<ExitStatus> status;         // how the program ended; nullopt: it was not seen to
    std::vector<std::string> last_words;      // on its standard error
  };

  HostTalks() = default;
  HostTalks(const HostTalks&) = delete;
  HostTalks& operator=(const HostTalks&) = delete;
  /// Ends all programs: their input ends, and those that still run after a second are killed.
  ~HostTalks();

  /// Starts a program for the next host. `words.front()` is its path; `environment` has its
  /// variables, "NAME=value".
  void start(const std::vector<std::string>& words, const std::vector<std::string>& environment);

  /// Sends a line to a host.
  void send(std::size_t host, const std::string& line);

  /// Waits for one answer of each host that was sent a line, until the time is over. An answer that
  /// does not come closes the talk.
  void wait_for_answers(std::chrono::milliseconds timeout);

  const Talk& operator[](std::size_t host) const { return entries_[host].talk; }

 private:
  struct Entry {
    pid_t pid = -1;
    Descriptor to;
    Descriptor from;
    Descriptor words;
    std::string unsent;
    std::string inbox;
    std::string said;  // on standard error
    bool waits = false;
    Talk talk;
  };

  void read_answers(Entry& entry);
  void write_rest(Entry& entry);
  void note_end(Entry& entry);

  std::vector<Entry> entries_;
};

}  // namespace ddprun
