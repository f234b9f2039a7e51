#include "agent/status_desk.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace ddprun {

namespace {

Error not_reached() {
  return {Error::Kind::kUnavailable, "this node has no coordinator at the moment"};
}
Error too_old() {
  return {Error::Kind::kUnavailable,
          "the job's coordinator is of an older release, which does not "
          "tell how the job is"};
}

}  // namespace

StatusDesk::StatusDesk(const asio::any_io_executor& executor,
                       std::function<void(const AskStatus&)> send)
    : send_{std::move(send)},
      answer_{not_reached()},
      answered_{executor, asio::steady_timer::time_point::max()} {}

void StatusDesk::hear(const CoordinatorMessage& message) {
  if (const auto* joined = std::get_if<Joined>(&message)) {
    met_ = true;
    can_be_asked_ = knows(joined->knows, kKnowsStatus);
  }
  const auto* part = std::get_if<StatusPart>(&message);
  if (part == nullptr || !asking_ || part->question != question_) return;
  parts_ += part->text;
  if (!part->last && parts_.size() <= kStatusBytesMax) return;
  answer_ = parse_job_status(std::exchange(parts_, {}));
  asking_ = false;
  answered_.cancel();
}

void StatusDesk::lose_coordinator() {
  met_ = can_be_asked_ = asking_ = false;
  answer_ = not_reached();
  answered_.cancel();
}

asio::awaitable<Result<JobStatus>> StatusDesk::ask(std::chrono::milliseconds timeout) {
  using namespace asio::experimental::awaitable_operators;
  constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);
  if (!met_) co_return not_reached();
  if (!can_be_asked_) co_return too_old();
  if (!std::exchange(asking_, true)) {
    parts_.clear();
    send_(AskStatus{++question_});
  }
  const int question = question_;
  asio::steady_timer deadline{answered_.get_executor(), timeout};
  auto late = deadline.async_wait(kQuietly);
  auto answered = answered_.async_wait(kQuietly);
  const auto first = co_await (std::move(late) || std::move(answered));
  if (first.index() == 1) co_return answer_;
  if (question == question_) asking_ = false;  // the next one asks anew
  co_return Error{Error::Kind::kTimeout, "the job's coordinator does not answer"};
}

}  // namespace ddprun
