#include "agent/control/job_queries.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/coroutines.hpp"

namespace ddprun {

namespace {

Error not_reached() {
  return {Error::Kind::kUnavailable, "this node has no coordinator at the moment"};
}

}  // namespace

template <typename Question>
SharedQuery<Question>::SharedQuery(const asio::any_io_executor& executor,
                                   std::function<void(const Ask&)> send)
    : send_{std::move(send)},
      answer_{not_reached()},
      answered_{executor, asio::steady_timer::time_point::max()} {}

template <typename Question>
void SharedQuery<Question>::hear(const CoordinatorMessage& message) {
  if (std::holds_alternative<Joined>(message)) met_ = true;
  const auto* part = std::get_if<typename Question::Part>(&message);
  if (part == nullptr || !asking_ || part->question != question_) return;
  parts_ += part->text;
  if (!part->last && parts_.size() <= Question::kBytesMax) return;
  answer_ = Question::parse(std::exchange(parts_, {}));
  asking_ = false;
  answered_.cancel();
}

template <typename Question>
void SharedQuery<Question>::lose_coordinator() {
  met_ = asking_ = false;
  answer_ = not_reached();
  answered_.cancel();
}

template <typename Question>
asio::awaitable<Result<typename Question::Answer>> SharedQuery<Question>::ask(
    std::chrono::milliseconds timeout) {
  constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);
  if (!met_) co_return not_reached();
  if (!std::exchange(asking_, true)) {
    parts_.clear();
    send_(Ask{++question_});
  }
  const int question = question_;
  auto answered = answered_.async_wait(kQuietly);
  if (co_await in_time(Clock::now() + timeout, std::move(answered))) co_return answer_;
  if (question == question_) asking_ = false;  // the next caller starts a new question
  co_return Error{Error::Kind::kTimeout, "the job's coordinator does not answer"};
}

template class SharedQuery<StatusQuestion>;
template class SharedQuery<DumpQuestion>;

void JobQueries::hear(const CoordinatorMessage& message) {
  status_.hear(message);
  dump_.hear(message);
}

void JobQueries::lose_coordinator() {
  status_.lose_coordinator();
  dump_.lose_coordinator();
}

}  // namespace ddprun
