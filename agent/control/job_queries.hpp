// A SharedQuery asks the coordinator one kind of question for all callers of this node's agent: the
// state of the job (StatusQuery), or what all workers do (DumpQuery). An agent has both in its
// JobQueries.
//
// Callers that ask while a question is in progress share its answer, so that frequent calls cost
// the coordinator nothing.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <string>

#include "base/asio.hpp"
#include "base/result.hpp"
#include "rendezvous/messages/job_status.hpp"
#include "rendezvous/messages/messages.hpp"

namespace ddprun {

/// How the job is.
struct StatusQuestion {
  using Ask = AskStatus;
  using Part = StatusPart;
  using Answer = JobStatus;
  static constexpr std::size_t kBytesMax = kStatusBytesMax;
  static Result<Answer> parse(std::string_view text) { return parse_job_status(text); }
};

/// What all workers do.
struct DumpQuestion {
  using Ask = AskDump;
  using Part = DumpPart;
  using Answer = JobDump;
  static constexpr std::size_t kBytesMax = kDumpBytesMax;
  static Result<Answer> parse(std::string_view text) { return parse_job_dump(text); }
};

template <typename Question>
class SharedQuery {
 public:
  using Ask = typename Question::Ask;
  using Answer = typename Question::Answer;

  /// `send` sends to the coordinator.
  SharedQuery(const asio::any_io_executor& executor, std::function<void(const Ask&)> send);
  SharedQuery(const SharedQuery&) = delete;

  /// Hears what the coordinator says: whether it can be asked, and its answers.
  void hear(const CoordinatorMessage& message);
  /// The coordinator is gone. Waiting callers get an error.
  void lose_coordinator();

  /// Asks, and waits for the answer. Errors: kUnavailable while there is no coordinator; kTimeout.
  asio::awaitable<Result<Answer>> ask(std::chrono::milliseconds timeout);

 private:
  std::function<void(const Ask&)> send_;
  bool met_ = false;             // a coordinator is there
  int question_ = 0;             // the last one
  bool asking_ = false;          // it is not answered yet
  std::string parts_;            // its answer so far
  Result<Answer> answer_;        // the last one
  asio::steady_timer answered_;  // never expires: it is cancelled when there is an answer
};

extern template class SharedQuery<StatusQuestion>;
extern template class SharedQuery<DumpQuestion>;
using StatusQuery = SharedQuery<StatusQuestion>;
using DumpQuery = SharedQuery<DumpQuestion>;

/// All that an agent can be asked of its job.
class JobQueries {
 public:
  /// `send` sends to the coordinator.
  JobQueries(const asio::any_io_executor& executor,
             const std::function<void(const AgentMessage&)>& send)
      : status_{executor, send}, dump_{executor, send} {}

  /// What is the same for all questions; see SharedQuery.
  void hear(const CoordinatorMessage& message);
  void lose_coordinator();

  asio::awaitable<Result<JobStatus>> status(std::chrono::milliseconds timeout) {
    return status_.ask(timeout);
  }
  asio::awaitable<Result<JobDump>> dump(std::chrono::milliseconds timeout) {
    return dump_.ask(timeout);
  }

 private:
  StatusQuery status_;
  DumpQuery dump_;
};

}  // namespace ddprun
