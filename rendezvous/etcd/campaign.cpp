#include "rendezvous/etcd/campaign.hpp"

#include <algorithm>
#include <utility>

#include "base/match.hpp"

namespace ddprun {

using std::chrono::milliseconds;

namespace {

/// After a request that was not answered the next one waits this long: it goes to another member.
constexpr milliseconds kPauseAfterFailure{100};
/// A coordinator that was lost, and is not known to be dead, is tried again after that at the
/// earliest.
constexpr milliseconds kTryAgainMin{1'000};
/// All agents together ask etcd at most this often, in a second, whether the key is free.
constexpr int kLooksPerSecond = 10'000;

}  // namespace

Campaign::Campaign(Rules rules)
    : rules_{std::move(rules)},
      key_{rules_.heartbeat_timeout},
      members_{rules_.heartbeat_timeout} {}

std::vector<Campaign::Action> Campaign::step(const Event& event, TimePoint now) {
  match(
      event,
      [&](const Seek& e) {
        seek_ = e;
        seeking_since_ = look_due_ = now;
      },
      [&](const SeekNoMore&) { seek_.reset(); },
      [&](const WriteMembers& e) {
        if (epoch_ > 0) members_.want(e.nodes, e.attempt);
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
  if (verdict_ || members_.is_wanted() || key_.must_be_seen()) return pause_ends_;
  if (epoch_ > 0 && !key_.is_held()) return std::max(pause_ends_, look_due_);
  if (epoch_ > 0)
    return std::max(pause_ends_, std::min(key_.renewal_due(), members_.renewal_due()));
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
  if (!key_.is_held())
    return now >= look_due_ ? std::optional<EtcdRequest>{ReadKeys{}} : std::nullopt;
  if (key_.must_be_seen()) return ReadKeys{};
  if (now >= key_.renewal_due()) return KeepLease{key_.lease()};
  if (verdict_) return write_verdict();
  if (members_.is_wanted()) return members_.next_request(epoch_);
  if (now >= members_.renewal_due()) return KeepLease{members_.lease()};
  return std::nullopt;
}

EtcdRequest Campaign::write_verdict() const {
  if (verdict_lease_ == 0) return GrantLease{kVerdictKept};
  return PutVerdict{epoch_, *verdict_, verdict_lease_};
}

/// With a fresh lease, so that much of it is left for the winner.
EtcdRequest Campaign::run_for_it(TimePoint now) const {
  if (!key_.has_fresh_lease(now)) return GrantLease{whole_seconds(rules_.heartbeat_timeout)};
  return TakeKey{*take_from_, key_.lease()};
}

// --- what was answered ---

void Campaign::take(const EtcdAnswer& answer, TimePoint now) {
  if (!asked_) return;
  match(
      answer,  //
      [&](const KeysRead& a) { keys_read(a, now); }, [&](const LeaseGranted& a) { granted(a); },
      [&](const LeaseKept& a) { kept(a, now); }, [&](const KeyTaken& a) { taken(a, now); },
      [&](const RecordPut& a) { put(a); }, [&](const NotAnswered&) { not_answered(now); });
  asked_.reset();
}

void Campaign::keys_read(const KeysRead& keys, TimePoint now) {
  take_from_.reset();
  if (epoch_ > 0)
    check_own_key(keys, now);
  else if (seek_)
    look_for_head(keys, now);
}

void Campaign::check_own_key(const KeysRead& keys, TimePoint now) {
  if (members_.has_expired(keys.members.revision)) actions_.push_back(MembersExpired{});
  if (keys.holder && keys.holder->epoch == epoch_) {
    if (key_.seen()) tell_held();
    return;
  }
  if (keys.holder && keys.holder->endpoint != rules_.endpoint) return replaced(*keys.holder);
  key_.missed();
  if (verdict_ && !keys.members.verdict.empty()) return verdict_is_written();
  take_from_ = keys.holder ? keys.holder->epoch : 0;
  by_death_ = false;
  look_due_ = now;
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

void Campaign::granted(const LeaseGranted& answer) {
  const EtcdLease lease{answer.lease, answer.ttl, asked_at_};
  if (take_from_)
    key_.grant(lease);
  else if (verdict_)
    verdict_lease_ = lease.id;
  else
    members_.grant(lease);
}

void Campaign::kept(const LeaseKept& answer, TimePoint now) {
  const bool gone = answer.ttl.count() <= 0;
  if (std::get<KeepLease>(*asked_).lease == key_.lease()) {
    if (!gone) return key_.renewed(asked_at_);
    key_.lose();
    look_due_ = now;
  } else if (gone) {
    members_.lose_lease();
    key_.look_again();
  } else {
    members_.renewed(asked_at_);
    tell_held();
  }
}

void Campaign::taken(const KeyTaken& answer, TimePoint now) {
  take_from_.reset();
  epoch_ = answer.epoch;
  key_.taken();
  members_.begin_term(answer.members, now);
  const bool newcomer = seek_ && !seek_->in_job;
  const bool other_job = newcomer && !answer.members.verdict.empty();  // the name is used again
  actions_.push_back(
      Elected{epoch_, other_job ? MembersRecord{} : answer.members, by_death_, newcomer});
  tell_held();
}

void Campaign::put(const RecordPut& answer) {
  if (std::holds_alternative<PutVerdict>(*asked_)) return verdict_is_written();
  if (!members_.written(answer.revision, std::get<PutMembers>(*asked_).members.nodes)) return;
  tell_held();
  actions_.push_back(MembersWritten{members_.nodes()});
}

/// It may have been done. So what is there is read before anything else is tried.
void Campaign::not_answered(TimePoint now) {
  pause_ends_ = now + kPauseAfterFailure;
  take_from_.reset();
  if (std::holds_alternative<TakeKey>(*asked_)) key_.drop_lease();
  if (std::holds_alternative<PutVerdict>(*asked_)) verdict_lease_ = 0;
  if (std::holds_alternative<PutMembers>(*asked_)) {
    members_.drop_lease();
    key_.look_again();
  }
  look_due_ = pause_ends_;
}

void Campaign::verdict_is_written() {
  actions_.push_back(VerdictWritten{});
  step_down();
}

void Campaign::replaced(const KeyHolder& by) {
  actions_.push_back(Replaced{by.epoch, by.endpoint});
  step_down();
}

/// Somebody else coordinates the job, or all can read how it has ended.
void Campaign::step_down() {
  epoch_ = 0;
  key_.lose();
  members_ = MembersWriter{rules_.heartbeat_timeout};
  verdict_.reset();
}

// --- times ---

void Campaign::tell_held() { actions_.push_back(Held{key_.alone_until(), members_.held_until()}); }

milliseconds Campaign::try_again_after() const {
  return std::max(kTryAgainMin, rules_.heartbeat_timeout);
}

milliseconds Campaign::poll_interval() const {
  const milliseconds share{rules_.nodes_max * 1'000 / kLooksPerSecond};
  return std::max({milliseconds{100}, rules_.heartbeat_timeout / 50, share});
}

}  // namespace ddprun
