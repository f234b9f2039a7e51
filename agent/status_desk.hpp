// StatusDesk asks the coordinator how the job is, for whoever asks this node's agent.
//
// Any number of questions that come at one time are one question to the coordinator, so that nobody
// can make it work by asking often.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <string>

#include "base/asio.hpp"
#include "base/result.hpp"
#include "rendezvous/wire/job_status.hpp"
#include "rendezvous/wire/messages.hpp"

namespace ddprun {

class StatusDesk {
 public:
  /// `send` sends to the coordinator.
  StatusDesk(const asio::any_io_executor& executor, std::function<void(const AskStatus&)> send);
  StatusDesk(const StatusDesk&) = delete;

  /// Hears what the coordinator says: whether it can be asked, and its answers.
  void hear(const CoordinatorMessage& message);
  /// The coordinator is gone. Who waits hears so.
  void lose_coordinator();

  /// Asks, and waits for the answer. Errors: kUnavailable while there is no coordinator, or one of
  /// an older release; kTimeout.
  asio::awaitable<Result<JobStatus>> ask(std::chrono::milliseconds timeout);

 private:
  std::function<void(const AskStatus&)> send_;
  bool can_be_asked_ = false;
  bool met_ = false;             // a coordinator is there
  int question_ = 0;             // the last one
  bool asking_ = false;          // it is not answered yet
  std::string parts_;            // of its answer, so far
  Result<JobStatus> answer_;     // the last one
  asio::steady_timer answered_;  // never expires: it is cancelled when there is an answer
};

}  // namespace ddprun
