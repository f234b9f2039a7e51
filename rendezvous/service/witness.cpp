#include "rendezvous/service/witness.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/match.hpp"
#include "base/system/fresh_names.hpp"
#include "base/system/own_process.hpp"
#include "base/text.hpp"

namespace ddprun {

using asio::as_tuple;
using asio::use_awaitable;

asio::awaitable<void> Witness::serve(std::shared_ptr<Channel> channel, InviteWitness invitation) {
  const std::shared_ptr<Vote> vote = vote_in(invitation.run_id, channel->address().to_string());
  if (!vote) {
    channel->send(encode(CoordinatorMessage{Refused{"it votes in as many jobs as it may"}}));
    co_return channel->close_when_sent();
  }
  const WitnessPeer peer = ++peers_;
  vote->peers[peer] = channel;
  perform(*vote, vote->machine.invited(peer, invitation, Clock::now()));
  auto hearing = hear(vote, peer);
  auto ticking = tick_when_due(vote);
  co_await ends_first(std::move(hearing), std::move(ticking));
  drop(*vote, peer);
  perform(*vote, vote->machine.lost(peer, Clock::now()));
}

/// nullptr: there are too many.
std::shared_ptr<Witness::Vote> Witness::vote_in(const std::string& run_id,
                                                const std::string& from) {
  const auto known = votes_.find(run_id);
  if (known != votes_.end()) return known->second;
  const auto asked = asked_from_.find(from);
  const bool asks_too_often =
      asked != asked_from_.end() && asked->second >= limits_.jobs_per_address_max;
  if (votes_.size() >= limits_.jobs_max || asks_too_often) return nullptr;
  ++asked_from_[from];
  log::info("votes in job '{}', which is hosted elsewhere", printable(run_id));
  return votes_[run_id] = std::make_shared<Vote>(
             Vote{WitnessMachine{fresh_id, host_name()}, from, asio::steady_timer{executor_}});
}

/// Hands on what the coordinator says until the connection has ended.
asio::awaitable<void> Witness::hear(std::shared_ptr<Vote> vote, WitnessPeer peer) {
  while (vote->peers.contains(peer)) {
    const std::shared_ptr<Channel> channel = vote->peers.at(peer);
    const Result<std::string> line = co_await channel->receive();
    const auto message =
        line ? decode_coordinator_message(*line) : Result<CoordinatorMessage>{line.error()};
    if (!message) co_return;
    perform(*vote, vote->machine.told(peer, *message, Clock::now()));
  }
}

/// Several connections at a time all wait for the same alarm.
asio::awaitable<void> Witness::tick_when_due(std::shared_ptr<Vote> vote) {
  for (;;) {
    co_await vote->tick.async_wait(as_tuple(use_awaitable));
    if (Clock::now() < vote->tick.expiry()) continue;  // perform() has moved it
    perform(*vote, vote->machine.tick(Clock::now()));
  }
}

void Witness::perform(Vote& vote, const std::vector<WitnessAction>& actions) {
  const auto say = [&](WitnessPeer to, const std::string& line) {
    const auto peer = vote.peers.find(to);
    if (peer != vote.peers.end()) peer->second->send(line);
  };
  for (const WitnessAction& action : actions)
    match(
        action, [&](const SayTo& a) { say(a.to, encode(a.message)); },
        [&](const SendAway& a) {
          say(a.to, encode(CoordinatorMessage{a.where}));
          drop(vote, a.to);
        },
        [&](const HangUpOn& a) { drop(vote, a.to); });
  const TimePoint due = vote.machine.next_tick().value_or(TimePoint::max());
  if (due != vote.tick.expiry()) vote.tick.expires_at(due);
}

void Witness::drop(Vote& vote, WitnessPeer peer) {
  const auto found = vote.peers.find(peer);
  if (found == vote.peers.end()) return;
  found->second->close_when_sent();
  vote.peers.erase(found);
}

Leader Witness::leader_of(const std::string& run_id) const {
  const auto vote = votes_.find(run_id);
  return vote == votes_.end() ? Leader{} : vote->second->machine.leader(Clock::now());
}

void Witness::sweep(TimePoint now) {
  std::erase_if(votes_, [&](const auto& entry) {
    const Vote& vote = *entry.second;
    const bool over = vote.peers.empty() && vote.machine.is_forgotten(now);
    if (over && --asked_from_[vote.asked_from] == 0) asked_from_.erase(vote.asked_from);
    return over;
  });
}

void Witness::close() {
  for (const auto& [run_id, vote] : votes_)
    for (const auto& [peer, channel] : vote->peers) channel->close();
}

}  // namespace ddprun
