#include "agent/checkpoints/lone_keeper.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "agent/checkpoints/memory_budget.hpp"
#include "agent/checkpoints/shared_keeper.hpp"
#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/number_text.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);

/// What is on disk, with as many files there as half of the free memory does not hold.
Snapshot with_files_on_disk(Snapshot there, const MemoryRoom& room) {
  for (const std::string& path : files_beyond(there, bytes_free(room) / 2))
    for (KeptFile& file : there.files)
      if (file.facts.path == path) file.facts.on_disk = true;
  return there;
}

}  // namespace

std::unique_ptr<CheckpointKeeper> make_keeper(const asio::any_io_executor& executor,
                                              CheckpointSpec spec, CheckpointListener tell,
                                              PeerTls tls) {
  if (spec.shared)
    return std::make_unique<SharedKeeper>(executor, std::move(spec), std::move(tell),
                                          std::move(tls));
  return std::make_unique<LoneKeeper>(executor, std::move(spec), std::move(tell));
}

LoneKeeper::LoneKeeper(const asio::any_io_executor& executor, CheckpointSpec spec,
                       CheckpointListener tell, fs::path memory)
    : spec_{std::move(spec)},
      tell_{std::move(tell)},
      kept_{executor,
            spec_,
            tell_,
            std::move(memory),
            [this] {
              saves_.step(FolderTouched{}, kept_.current(), Clock::now());
              alarm_.cancel();
            },
            [this] { forget_old(); }},
      alarm_{executor},
      idle_{executor, TimePoint::max()} {}

// --- from the beginning to the end ---

asio::awaitable<Result<void>> LoneKeeper::begin() {
  if (auto opened = co_await kept_.open(); !opened) co_return opened;
  kept_.hurry(true);
  if (kept_.has_memory()) co_await put_back_newest(false);
  if (kept_.in_memory()) co_await kept_.make_room(false);
  if (kept_.has_memory() && !kept_.in_memory() && !kept_.is_written())
    co_return Error{Error::Kind::kUnavailable,
                    title_of(kept_.snapshots().own().back()) +
                        ", which an earlier job has left in '" + kept_.folder().string() +
                        "', can neither be put back nor be written to '" + spec_.disk + "'"};
  is_put_back_ = true;
  start_coroutine(alarm_.get_executor(), keep_saves(), report_failure("keeping checkpoints"));
  co_return Result<void>{};
}

/// Between rounds others wait for the workers' end, and give up a node that takes long.
asio::awaitable<Result<void>> LoneKeeper::begin_round(Round round) {
  while (busy_) co_await idle_.async_wait(kQuietly);
  busy_ = true;
  if (kept_.in_memory() && !is_put_back_) {
    co_await put_back_newest(round.checkpoint.older);
    if (kept_.in_memory()) co_await kept_.make_room(false);
  }
  busy_ = false;
  idle_.cancel();
  is_put_back_ = true;
  saves_.begin_anew();
  kept_.hurry(false);
  workers_run_ = true;
  alarm_.cancel();
  co_return Result<void>{};
}

asio::awaitable<void> LoneKeeper::end_round(bool well) {
  workers_run_ = false;
  is_put_back_ = false;
  kept_.hurry(true);
  while (busy_) co_await idle_.async_wait(kQuietly);
  if (kept_.in_memory()) co_await kept_.mend_link();
  if (!kept_.in_memory() || !well) co_return;
  // Nobody saves any more, whatever names files have.
  const auto seen = co_await kept_.look();
  has_all_ = seen && has_same_files(seen->state, kept_.current());
  if (seen && !has_all_) has_all_ = co_await keep(seen->state);
}

asio::awaitable<void> LoneKeeper::end(bool) {
  workers_run_ = false;
  ended_ = true;
  alarm_.cancel();
  if (!kept_.in_memory()) co_return;
  kept_.hurry(true);
  while (busy_) co_await idle_.async_wait(kQuietly);
  const fs::path folder = kept_.folder();
  if (!has_all_)
    co_return log::error("what the program has saved last is not on disk, but in '{}': copy it",
                         folder.string());
  const bool flushed = co_await kept_.disk().flush();
  if (!flushed || !kept_.is_written())
    co_return log::error(
        "{} is not on disk: it stays in '{}' until ddprun runs here again with --checkpoints {}={}",
        title_of(kept_.snapshots().own().back()), folder.string(), spec_.folder, spec_.disk);
  co_await kept_.disk().write_logs(folder);
  co_await kept_.disk().point_folder(spec_.disk);
  co_await kept_.drop();
}

std::optional<KeptCheckpoints> LoneKeeper::status() const {
  return kept_.in_memory() ? std::optional{kept_.status()} : std::nullopt;
}

// --- between rounds ---

/// Walks down from the newest snapshot to one that is whole; without any, the folder is empty.
/// `older`: the one that was put back last failed alike each time.
asio::awaitable<void> LoneKeeper::put_back_newest(bool older) {
  std::vector<Snapshot> all = kept_.snapshots().own();
  const Snapshot& there = kept_.disk().there();
  if (std::ranges::none_of(all, [&](const Snapshot& kept) { return is_same(kept, there); }))
    all.push_back(kept_.in_memory() && is_same(kept_.current(), there)
                      ? kept_.current()
                      : with_files_on_disk(there, kept_.room()));
  std::ranges::stable_sort(all, std::ranges::greater{}, &Snapshot::taken_unix_ms);
  older = leave_out_failing(all, older);
  all.push_back({});  // an empty folder
  for (Snapshot& snapshot : all) {
    const std::int64_t taken_unix_ms = snapshot.taken_unix_ms;
    const auto put = co_await kept_.put_back(std::move(snapshot), older);
    if (put) {
      times_loaded_ = taken_unix_ms == loaded_unix_ms_ ? times_loaded_ + 1 : 1;
      loaded_unix_ms_ = taken_unix_ms;
      co_return kept_.write_unwritten();
    }
    // Only what is damaged gives way to an older one: that memory is full must not cost a step.
    if (put.error().kind == Error::Kind::kInvalid) continue;
    std::string why = put.error().message;
    co_await kept_.use_disk_alone(std::move(why));
    co_return;
  }
}

/// If others are left, takes out those that failed alike each time that they were loaded: with
/// `older` also the last one, if that was loaded twice. Returns whether it was that.
bool LoneKeeper::leave_out_failing(std::vector<Snapshot>& newest_first, bool older) {
  const auto take_out = [&](const auto& is_failing) {
    if (!std::ranges::all_of(newest_first, is_failing)) std::erase_if(newest_first, is_failing);
  };
  take_out([&](const Snapshot& kept) { return failing_.contains(kept.taken_unix_ms); });
  const auto was_loaded = [&](const Snapshot& kept) {
    return kept.taken_unix_ms == loaded_unix_ms_;
  };
  const bool is_newest = newest_first.size() > 1 && was_loaded(newest_first.front());
  if (!older || !is_newest || times_loaded_ < 2) return false;
  failing_.insert(loaded_unix_ms_);
  take_out(was_loaded);
  kept_.forget_if(was_loaded);  // the next one needs the older one beside it
  return true;
}

// --- while workers run ---

asio::awaitable<void> LoneKeeper::keep_saves() {
  while (!ended_) {
    const auto due = workers_run_ && kept_.in_memory() ? saves_.next_look() : std::nullopt;
    if (busy_ || !due || Clock::now() < *due) {
      alarm_.expires_at(due.value_or(TimePoint::max()));
      co_await alarm_.async_wait(kQuietly);
      continue;
    }
    busy_ = true;
    if (saves_.look_due(Clock::now()) == SaveWatch::Wants::kLook) co_await look_for_save();
    busy_ = false;
    idle_.cancel();
  }
}

asio::awaitable<void> LoneKeeper::look_for_save() {
  auto seen = co_await kept_.look();
  const TimePoint now = Clock::now();
  if (!seen) seen.emplace().open.push_back(spec_.folder);  // it is changing: the next look tells
  if (!workers_run_) co_return;
  const auto wants = saves_.step(*seen, kept_.current(), now);
  warn_of_open_file(saves_, spec_, now);
  if (wants != SaveWatch::Wants::kKeep) co_return;
  const bool is_kept = co_await keep(seen->state);
  saves_.step(SnapshotKept{is_kept}, kept_.current(), Clock::now());
}

asio::awaitable<bool> LoneKeeper::keep(FolderState state) {
  Snapshot next;
  const bool is_kept = co_await kept_.take(std::move(state), std::move(next));
  if (!is_kept) co_return false;
  tell_(news_of(kept_.current(), CheckpointNews::What::kKept));
  kept_.write_unwritten();
  forget_old();
  co_await kept_.make_room(true);
  co_return true;
}

void LoneKeeper::forget_old() {
  const std::size_t count = kept_.snapshots().own().size();
  std::size_t at = 0;
  kept_.forget_if([&](const Snapshot&) { return ++at + kSnapshotsKept <= count; });
}

}  // namespace ddprun
