#include "rendezvous/etcd/etcd_election.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/match.hpp"

namespace ddprun {

namespace {

using asio::as_tuple;
using asio::use_awaitable;
using namespace std::chrono_literals;

/// The first note that etcd does not answer comes after this time, and later ones are as far apart.
constexpr auto kFirstNote = 2s;
constexpr auto kNoteInterval = 30s;

}  // namespace

EtcdElection::EtcdElection(const asio::any_io_executor& executor,
                           std::unique_ptr<EtcdClient> client, Campaign::Rules rules, EtcdKeys keys,
                           Listener tell)
    : campaign_{rules},
      rules_{std::move(rules)},
      keys_{std::move(keys)},
      client_{std::move(client)},
      tell_{std::move(tell)},
      alarm_{executor},
      seeking_{executor} {}

asio::awaitable<Result<Campaign::Found>> EtcdElection::seek(Campaign::Seek wish,
                                                            TimePoint deadline) {
  const auto self = shared_from_this();
  found_.reset();
  seeking_.expires_at(deadline);
  step(wish);
  if (!found_ && !closed_) co_await seeking_.async_wait(as_tuple(use_awaitable));
  if (found_) co_return *std::exchange(found_, std::nullopt);
  step(Campaign::SeekNoMore{});
  if (last_failure_.empty())
    co_return Error{Error::Kind::kTimeout, "nobody coordinates the job, as etcd says"};
  co_return Error{Error::Kind::kTimeout, last_failure_};
}

void EtcdElection::close() {
  closed_ = true;
  seeking_.cancel();
  if (campaign_.is_done()) alarm_.cancel();
}

void EtcdElection::step(const Campaign::Event& event) {
  if (closed_ && campaign_.is_done()) return;
  for (const Campaign::Action& action : campaign_.step(event, Clock::now())) perform(action);
  set_alarm();
}

void EtcdElection::perform(const Campaign::Action& action) {
  if (const auto* wish = std::get_if<Campaign::Ask>(&action)) {
    start_coroutine(alarm_.get_executor(), ask(wish->request), report_failure("asking etcd"));
  } else if (const auto* found = std::get_if<Campaign::Found>(&action)) {
    found_ = *found;
    seeking_.cancel();
  } else if (!closed_) {
    tell_(action);
  }
}

asio::awaitable<void> EtcdElection::ask(EtcdRequest request) {
  const auto self = shared_from_this();
  const auto answer = co_await answer_to(request);
  step(Campaign::Answer{answer});
}

asio::awaitable<EtcdAnswer> EtcdElection::answer_to(const EtcdRequest& request) {
  auto asking = client_->ask(post_of(request, keys_, rules_.endpoint),
                             etcd_answer_timeout(rules_.heartbeat_timeout));
  const auto reply = co_await std::move(asking);
  const auto answer =
      reply ? answer_of(request, reply->status, reply->body) : Result<EtcdAnswer>{reply.error()};
  if (answer) {
    if (!last_failure_.empty() && Clock::now() >= failing_since_ + kFirstNote)
      log::warn("etcd answers again");
    last_failure_.clear();
    co_return *answer;
  }
  if (reply) client_->ask_another();
  note_failure(answer.error().message);
  co_return NotAnswered{answer.error().message};
}

void EtcdElection::note_failure(const std::string& why) {
  const TimePoint now = Clock::now();
  if (last_failure_.empty()) {
    failing_since_ = now;
    note_due_ = now + kFirstNote;
  }
  last_failure_ = why;
  if (now < note_due_) return;
  note_due_ = now + kNoteInterval;
  log::warn("{}; trying again", why);
}

void EtcdElection::set_alarm() {
  if (closed_ && campaign_.is_done()) return alarm_.cancel(), void();
  const auto due = campaign_.next_tick();
  alarm_.expires_at(due.value_or(TimePoint::max()));
  if (!due || std::exchange(ticking_, true)) return;
  start_coroutine(alarm_.get_executor(), tick(), report_failure("the clock of etcd's leases"));
}

/// It lives as long as a tick is due, so that it keeps no event loop from ending.
asio::awaitable<void> EtcdElection::tick() {
  const auto self = shared_from_this();
  while (!(closed_ && campaign_.is_done()) && alarm_.expiry() != TimePoint::max()) {
    co_await alarm_.async_wait(as_tuple(use_awaitable));
    if (Clock::now() >= alarm_.expiry()) step(Campaign::Tick{});
  }
  ticking_ = false;
}

}  // namespace ddprun
