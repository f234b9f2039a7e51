#include "rendezvous/etcd/campaign.hpp"

#include <algorithm>
#include <utility>

#include "base/match.hpp"

namespace ddprun {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// After a request that was not answered the next one waits so long: another member is asked then.
constexpr milliseconds kPauseAfterFailure{100};
/// A coordinator that was lost, and is not known to be dead, is tried again after that at the
/// earliest.
constexpr milliseconds kTryAgainMin{1'000};
/// So often all agents together ask etcd at most, in a second, whether the key is free.
constexpr int kLooksPerSecond = 10'000;

/// What is left of a time for who holds something: the rest is for orders to arrive.
milliseconds less_reserve(milliseconds time) { return time * 9 / 10; }

}  // namespace

std::vector<Campaign::Action> Campaign::step(const Event& event, TimePoint now) {
  match(
      event,
      [&](const Seek& e) {
        seek_ = e;
        seeking_since_ = look_due_ = now;
      },
      [&](const SeekNoMore&) { seek_.reset(); },
      [&](const BeginWorld& e) {
        if (world_written_ && e.nodes != world_) world_written_ = false;
        world_ = e.nodes;
        world_wanted_ = true;
      },
      [&](const JobEnded& e) {
        if (epoch_ > 0) verdict_ = e.verdict;
      },
      [&](const Answer& e) { take(e.answer, now); }, [](const Tick&) {});
  if (seek_ && epoch_ > 0) {
    actions_.push_back(Found{rules_.endpoint, epoch_});
    seek_.reset();
  }
  if (!asked_ && now >= pause_ends_) {
    asked_ = next_request(now);
    asked_at_ = now;
    if (asked_) actions_.push_back(Ask{*asked_});
  }
  return std::exchange(actions_, {});
}

std::optional<TimePoint> Campaign::next_tick() const {
  if (asked_) return std::nullopt;
  if (verdict_ || world_wanted_ || look_at_key_) return pause_ends_;
  if (epoch_ > 0 && !has_key_) return std::max(pause_ends_, look_due_);
  if (epoch_ > 0) {
    const TimePoint due = world_written_ ? std::min(renewal_due_, world_due_) : renewal_due_;
    return std::max(pause_ends_, due);
  }
  if (seek_) return std::max(pause_ends_, look_due_);
  return std::nullopt;
}

// --- what to ask ---

std::optional<EtcdRequest> Campaign::next_request(TimePoint now) {
  if (take_from_) return run_for_it(now);
  if (epoch_ > 0) return as_head(now);
  if (seek_ && now >= look_due_) return ReadKeys{};
  return std::nullopt;
}

/// The key goes before all else: renewals of its lease, and then a look whether it is still there.
std::optional<EtcdRequest> Campaign::as_head(TimePoint now) {
  if (!has_key_) return now >= look_due_ ? std::optional<EtcdRequest>{ReadKeys{}} : std::nullopt;
  if (look_at_key_) return ReadKeys{};
  if (now >= renewal_due_) return KeepLease{lease_.id};
  if (verdict_) return write_verdict();
  if (world_wanted_) return write_world();
  if (world_written_ && now >= world_due_) return KeepLease{world_lease_.id};
  return std::nullopt;
}

std::optional<EtcdRequest> Campaign::write_verdict() {
  if (verdict_lease_.id == 0) return GrantLease{kVerdictKept};
  return EndWorld{epoch_, *verdict_, verdict_lease_.id};
}

std::optional<EtcdRequest> Campaign::write_world() {
  if (world_lease_.id == 0)
    return GrantLease{whole_seconds(rules_.heartbeat_timeout * kWorldTimeouts)};
  return PutWorld{epoch_, {epoch_, world_, "", world_revision_}, world_lease_.id};
}

/// With a fresh lease, so that much of it is left for whoever wins.
std::optional<EtcdRequest> Campaign::run_for_it(TimePoint now) {
  const bool fresh = lease_.id != 0 && now - lease_.sent < rules_.heartbeat_timeout / 5;
  if (!fresh) return GrantLease{whole_seconds(rules_.heartbeat_timeout)};
  return TakeKey{*take_from_, lease_.id};
}

// --- what was answered ---

void Campaign::take(const EtcdAnswer& answer, TimePoint now) {
  if (!asked_) return;
  match(
      answer,  //
      [&](const KeysRead& a) { keys_read(a, now); }, [&](const LeaseGranted& a) { granted(a); },
      [&](const LeaseKept& a) { kept(a, now); }, [&](const KeyTaken& a) { taken(a, now); },
      [&](const WorldPut& a) { put(a); }, [&](const NotAnswered&) { not_answered(now); });
  asked_.reset();
}

void Campaign::keys_read(const KeysRead& keys, TimePoint now) {
  take_from_.reset();
  if (epoch_ > 0)
    check_own_key(keys, now);
  else if (seek_)
    look_for_head(keys, now);
}

/// The lease alone tells little: somebody who knows this process to be dead may have the key.
void Campaign::check_own_key(const KeysRead& keys, TimePoint now) {
  world_revision_ = keys.world.revision;
  if (world_revision_ == 0 && std::exchange(found_world_, false)) actions_.push_back(WorldGone{});
  if (keys.holder && keys.holder->epoch != epoch_ && keys.holder->endpoint != rules_.endpoint)
    return replaced(*keys.holder);
  has_key_ = keys.holder && keys.holder->epoch == epoch_;
  if (!has_key_) {
    look_at_key_ = false;
    if (verdict_ && !keys.world.verdict.empty()) return ended();
    take_from_ = keys.holder ? keys.holder->epoch : 0;
    by_death_ = false;
    look_due_ = now;
    return;
  }
  if (!std::exchange(look_at_key_, false)) return;
  lease_.sent = renewed_;
  renewal_due_ = renewed_ + rules_.heartbeat_timeout / 5;
  tell_held();
}

void Campaign::look_for_head(const KeysRead& keys, TimePoint now) {
  const auto& holder = keys.holder;
  const bool lost = holder && holder->epoch == seek_->lost;
  const bool own = holder && holder->endpoint == rules_.endpoint;  // an answer was lost, or the
                                                                   // process before this one here
  if (!holder || own || (lost && seek_->gone)) {
    take_from_ = holder ? holder->epoch : 0;
    by_death_ = holder.has_value();
  } else if (lost && now - seeking_since_ < try_again_after()) {
    look_due_ = now + poll_interval();
  } else {
    actions_.push_back(Found{holder->endpoint, holder->epoch});
    seek_.reset();
  }
}

Campaign::Lease& Campaign::lease_to_grant() {
  if (take_from_) return lease_;
  return verdict_ ? verdict_lease_ : world_lease_;
}

void Campaign::granted(const LeaseGranted& lease) {
  lease_to_grant() = {lease.lease, lease.ttl, asked_at_};
}

void Campaign::kept(const LeaseKept& answer, TimePoint now) {
  const std::int64_t id = std::get<KeepLease>(*asked_).lease;
  const bool gone = answer.ttl.count() <= 0;
  if (id == lease_.id) {
    look_at_key_ = !gone;
    renewed_ = asked_at_;
    if (gone) {
      lease_ = {};
      has_key_ = false;
      look_due_ = now;
    }
  } else if (gone) {  // it has to be written again
    world_lease_ = {};
    world_written_ = false;
    world_wanted_ = look_at_key_ = true;
    renewed_ = lease_.sent;
  } else {
    world_lease_.sent = asked_at_;
    world_due_ = asked_at_ + rules_.heartbeat_timeout;
    tell_held();
  }
}

void Campaign::taken(const KeyTaken& answer, TimePoint now) {
  take_from_.reset();
  epoch_ = answer.epoch;
  has_key_ = true;
  look_at_key_ = false;
  renewal_due_ = lease_.sent + rules_.heartbeat_timeout / 5;
  world_due_ = now;
  world_revision_ = answer.world.revision;
  WorldRecord world = answer.world;
  const bool newcomer = seek_ && !seek_->in_job;
  if (newcomer && !world.verdict.empty()) world = {};  // that was another job of the same name
  found_world_ = !world.nodes.empty();
  actions_.push_back(Elected{epoch_, std::move(world), by_death_, newcomer});
  tell_held();
}

void Campaign::put(const WorldPut& answer) {
  if (std::holds_alternative<EndWorld>(*asked_)) return ended();
  world_revision_ = answer.revision;
  const auto& written = std::get<PutWorld>(*asked_).world.nodes;
  if (written != world_) return;  // the coordinator wants another one meanwhile
  world_wanted_ = found_world_ = false;
  world_written_ = true;
  world_due_ = world_lease_.sent + rules_.heartbeat_timeout;
  tell_held();
  actions_.push_back(WorldBegun{world_});
}

/// How the job has ended can be read by all.
void Campaign::ended() {
  verdict_.reset();
  epoch_ = 0;
  has_key_ = world_wanted_ = world_written_ = false;
}

/// It may have been done. So what is there is read before anything else is tried.
void Campaign::not_answered(TimePoint now) {
  pause_ends_ = now + kPauseAfterFailure;
  take_from_.reset();
  if (std::holds_alternative<TakeKey>(*asked_)) lease_ = {};
  if (std::holds_alternative<EndWorld>(*asked_)) verdict_lease_ = {};
  if (std::holds_alternative<PutWorld>(*asked_)) {
    world_lease_ = {};
    look_at_key_ = true;
    renewed_ = lease_.sent;
  }
  look_due_ = pause_ends_;
}

void Campaign::replaced(const KeyHolder& by) {
  actions_.push_back(Replaced{by.epoch, by.endpoint});
  epoch_ = 0;
  has_key_ = look_at_key_ = world_wanted_ = world_written_ = false;
  lease_ = world_lease_ = {};
  verdict_.reset();
}

// --- times ---

/// The key may be taken by who knows this process to be dead. That one waits for a heartbeat
/// timeout, so nothing counts on the key for longer, even if etcd gives more.
void Campaign::tell_held() {
  const auto time = std::min(lease_.ttl, rules_.heartbeat_timeout);
  alone_until_ = std::max(alone_until_, lease_.sent + less_reserve(time));
  const bool known = world_written_ && world_lease_.id != 0;
  actions_.push_back(
      Held{alone_until_, known ? world_lease_.sent + less_reserve(world_lease_.ttl) : TimePoint{}});
}

milliseconds Campaign::try_again_after() const {
  return std::max(kTryAgainMin, rules_.heartbeat_timeout);
}

seconds Campaign::whole_seconds(milliseconds time) const {
  return std::max(std::chrono::ceil<seconds>(time), seconds{1});
}

milliseconds Campaign::poll_interval() const {
  const milliseconds share{rules_.nodes_max * 1'000 / kLooksPerSecond};
  return std::max({milliseconds{100}, rules_.heartbeat_timeout / 50, share});
}

}  // namespace ddprun
