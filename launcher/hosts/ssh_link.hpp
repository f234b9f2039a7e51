// SshLink is one process that leads to a host, as ssh, and the conversation with what runs there.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/output/output_tail.hpp"
#include "base/process/child_process.hpp"
#include "base/result.hpp"

namespace ddprun {

class SshLink : public std::enable_shared_from_this<SshLink> {
 public:
  /// Functions that are called for what happens at the other end. `room` resolves when more output
  /// may be read.
  struct Listener {
    std::function<void(std::string_view)> heard;                     // bytes of its standard output
    std::function<void(ExitStatus, std::vector<std::string>)> gone;  // called last, and once
    std::function<asio::awaitable<void>()> room;
  };

  /// Opens the pipes to an ssh process. Errors: kUnavailable, when the system refuses them.
  static Result<std::shared_ptr<SshLink>> open(const asio::any_io_executor& executor,
                                               Listener listener);

  /// Returns the ends of the pipes that ssh gets; start() closes them here.
  ChildStreams ssh_ends() const { return ssh_ends_; }

  /// Begins to talk with `process`, which has been started with ssh_ends().
  void start(ChildProcess process);

  /// Returns the ssh process; -1: it has not been started, or has ended.
  pid_t pid() const { return process_ ? process_->pid() : -1; }

  /// Queues a line. Lines leave in their order.
  void send(std::string_view line);

  /// Lets the other end know that nothing more comes.
  void end_input() { to_.close(); }

  /// Ends the ssh process at once.
  void kill();

  ~SshLink();

 private:
  enum class ReadResult { kData, kNothingNow, kEnd };

  SshLink(const asio::any_io_executor& executor, Listener listener);
  Result<void> connect();
  void close_ssh_ends();
  asio::awaitable<void> read_all(asio::posix::stream_descriptor& source);
  asio::awaitable<void> write_queue();
  asio::awaitable<void> wait_for_end();
  ReadResult read_some(asio::posix::stream_descriptor& source);
  void drain(asio::posix::stream_descriptor& source);

  Listener listener_;
  ChildStreams ssh_ends_;
  asio::posix::stream_descriptor to_;
  asio::posix::stream_descriptor from_;
  asio::posix::stream_descriptor words_;  // standard error of ssh and of the login
  std::optional<ChildProcess> process_;
  OutputTail last_words_;
  std::string queue_;
  bool writing_ = false;
};

}  // namespace ddprun
