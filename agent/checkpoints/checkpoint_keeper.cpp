#include "agent/checkpoints/checkpoint_keeper.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "agent/checkpoints/memory_budget.hpp"
#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/machine/cgroups.hpp"
#include "base/machine/sysfs_files.hpp"
#include "base/number_text.hpp"
#include "base/system/late_answer.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kTasksMax = 16;
/// The older one is for when the newest turns out to be bad.
constexpr std::size_t kSnapshotsKept = 2;

MemoryRoom room_in(const MemoryTier& memory) {
  MemoryRoom room{.file_system = memory.free_bytes(),
                  .machine = machine_memory("/").available_bytes};
  if (const auto cgroup = cgroup_memory("/")) room.cgroup = cgroup->max - cgroup->used;
  return room;
}

CheckpointNews news_of(const Snapshot& snapshot, CheckpointNews::What what) {
  return {.what = what,
          .name = title_of(snapshot),
          .number = snapshot.number,
          .bytes = new_bytes(snapshot)};
}

/// What is on disk, with as many files there as half of the free memory does not hold.
Snapshot with_files_on_disk(Snapshot there, const MemoryRoom& room) {
  for (const std::string& path : files_beyond(there, bytes_free(room) / 2))
    for (KeptFile& file : there.files)
      if (file.facts.path == path) file.facts.on_disk = true;
  return there;
}

bool is_same(const Snapshot& one, const Snapshot& other) {
  return one.number == other.number && one.taken_unix_ms == other.taken_unix_ms;
}

}  // namespace

CheckpointKeeper::CheckpointKeeper(const asio::any_io_executor& executor, CheckpointSpec spec,
                                   Listener tell, fs::path memory)
    : spec_{std::move(spec)},
      tell_{std::move(tell)},
      file_system_{std::move(memory)},
      queue_{kTasksMax, LeftBehindQueue::Files::kOwn},
      disk_{executor, spec_,
            [this] {
              tell_(news_of(disk_.there(), CheckpointNews::What::kWritten));
              forget_old();
            }},
      watch_{executor},
      alarm_{executor},
      idle_{executor, TimePoint::max()} {}

template <typename T>
asio::awaitable<std::optional<T>> CheckpointKeeper::ask(std::function<T(Memory&)> question) {
  std::function<T()> work = [memory = memory_, question = std::move(question)] {
    return question(*memory);
  };
  return late_answer(queue_, TimePoint::max(), std::move(work));
}

// --- from the beginning to the end ---

asio::awaitable<Result<void>> CheckpointKeeper::begin() {
  if (auto opened = co_await disk_.open(); !opened) co_return opened;
  number_ = disk_.there().number;
  if (auto opened = co_await open_memory(); !opened) co_return opened;
  hurry(true);
  if (memory_->tier) co_await put_back_newest();
  if (in_memory_) co_await make_room(false);
  if (memory_->tier && !in_memory_ && !is_written())
    co_return Error{Error::Kind::kUnavailable,
                    title_of(kept_.back()) + ", which an earlier job has left in '" +
                        memory_->tier->folder().string() +
                        "', can neither be put back nor be written to '" + spec_.disk + "'"};
  hurry(false);
  workers_run_ = true;
  start_coroutine(alarm_.get_executor(), keep_saves(), report_failure("keeping checkpoints"));
  co_return Result<void>{};
}

asio::awaitable<Result<void>> CheckpointKeeper::open_memory() {
  using Found = Result<std::vector<Snapshot>>;
  std::function<Found(Memory&)> open = [root = file_system_,
                                        disk = spec_.disk](Memory& memory) -> Found {
    auto tier = MemoryTier::open(root, disk);
    if (!tier) return tier.error();
    memory.tier.emplace(std::move(*tier));
    return memory.tier->snapshots();
  };
  auto found = co_await ask(std::move(open));
  if (found && !*found && found->error().kind == Error::Kind::kDenied)
    co_return Error{Error::Kind::kUnavailable, found->error().message};
  if (!found || !*found) {
    std::string why = found ? found->error().message : "no thread can be started";
    co_await use_disk_alone(std::move(why));
    co_return Result<void>{};
  }
  kept_ = std::move(**found);
  for (const Snapshot& snapshot : kept_) number_ = std::max(number_, snapshot.number);
  own_since_ = number_ + 1;
  co_return Result<void>{};
}

asio::awaitable<void> CheckpointKeeper::end_round(bool well) {
  workers_run_ = false;
  hurry(true);
  while (busy_) co_await idle_.async_wait(kQuietly);
  if (in_memory_) co_await mend_link();
  if (in_memory_ && well) {
    // Nobody saves any more, whatever names files have.
    const auto seen = co_await look();
    has_all_ = seen && has_same_files(seen->state, current_);
    if (seen && !has_all_) has_all_ = co_await take_snapshot(seen->state);
  } else if (in_memory_) {
    co_await put_back_newest();
    if (in_memory_) co_await make_room(false);
  }
  saves_.begin_anew();
  hurry(false);
  workers_run_ = true;
  alarm_.cancel();
}

asio::awaitable<void> CheckpointKeeper::end() {
  workers_run_ = false;
  ended_ = true;
  alarm_.cancel();
  if (!in_memory_) co_return;
  watch_.end();
  hurry(true);
  while (busy_) co_await idle_.async_wait(kQuietly);
  const fs::path folder = memory_->tier->folder();
  if (!has_all_)
    co_return log::error("what the program has saved last is not on disk, but in '{}': copy it",
                         folder.string());
  const bool flushed = co_await disk_.flush();
  if (!flushed || !is_written())
    co_return log::error(
        "{} is not on disk: it stays in '{}' until ddprun runs here again with --checkpoints {}={}",
        title_of(kept_.back()), folder.string(), spec_.folder, spec_.disk);
  co_await disk_.write_logs(folder);
  co_await disk_.point_folder(spec_.disk);
  co_await drop_memory();
}

asio::awaitable<void> CheckpointKeeper::drop_memory() {
  in_memory_ = false;
  watch_.end();
  std::function<bool(Memory&)> remove = [](Memory& memory) {
    if (memory.tier) memory.tier->remove();
    return true;
  };
  co_await ask(std::move(remove));
  kept_.clear();
  current_ = {};
}

/// Programs remove their folder, and make it again.
asio::awaitable<void> CheckpointKeeper::mend_link() {
  const std::string what = co_await disk_.became_of_link(memory_->tier->folder());
  if (what.empty()) co_return;
  log::warn("{}: no checkpoint is kept until the job is started again", what);
  in_memory_ = false;
  const bool flushed = co_await disk_.flush();
  if (flushed && is_written()) co_await drop_memory();
}

// --- between rounds ---

/// Walks down from the newest snapshot to one that is whole; without any, the folder is empty.
asio::awaitable<void> CheckpointKeeper::put_back_newest() {
  std::vector<Snapshot> all = kept_;
  const Snapshot& there = disk_.there();
  if (std::ranges::none_of(kept_, [&](const Snapshot& kept) { return is_same(kept, there); }))
    all.push_back(in_memory_ && is_same(current_, there)
                      ? current_
                      : with_files_on_disk(there, room_in(*memory_->tier)));
  all.push_back({});  // an empty folder
  std::ranges::stable_sort(all, std::ranges::greater{}, &Snapshot::taken_unix_ms);
  for (Snapshot& snapshot : all) {
    auto next = std::make_shared<const Snapshot>(std::move(snapshot));
    const auto put = co_await put_back(std::move(next));
    if (put) co_return write_unwritten();
    // Only what is damaged gives way to an older one: that memory is full must not cost a step.
    if (put.error().kind == Error::Kind::kInvalid) continue;
    std::string why = put.error().message;
    co_await use_disk_alone(std::move(why));
    co_return;
  }
}

asio::awaitable<Result<void>> CheckpointKeeper::put_back(std::shared_ptr<const Snapshot> snapshot) {
  const bool own = snapshot->number >= own_since_;
  std::function<Result<PutBackResult>(Memory&)> work = [snapshot, own](Memory& memory) {
    return memory.tier->put_back(*snapshot, own ? snapshot->number : 0, memory.pace);
  };
  auto done = co_await ask(std::move(work));
  if (!done) co_return Error{Error::Kind::kUnavailable, "no thread can be started"};
  if (!*done && done->error().kind == Error::Kind::kInvalid) {
    log::warn("{} cannot be put back: {}", title_of(*snapshot), done->error().message);
    forget_if([&](const Snapshot& kept) { return is_same(kept, *snapshot); });
  }
  if (!*done) co_return done->error();
  PutBackResult& result = **done;
  for (const std::string& complaint : result.complaints) log::warn("{}", complaint);
  CheckpointNews news = news_of(*snapshot, CheckpointNews::What::kPutBack);
  news.bytes_from_disk = result.bytes_from_disk;
  tell_(news);
  current_ = std::move(result.snapshot);
  for (Snapshot& kept : kept_)
    if (is_same(kept, current_)) kept = current_;
  if (!in_memory_) co_await use_memory();
  co_return Result<void>{};
}

asio::awaitable<void> CheckpointKeeper::use_memory() {
  const fs::path folder = memory_->tier->folder();
  const auto touched = [this](const std::string& path) {
    if (is_log(path)) return;
    saves_.step(FolderTouched{}, current_, Clock::now());
    alarm_.cancel();
  };
  const auto watched = watch_.begin(folder, touched);
  if (!watched) {
    std::string why = watched.error().message;
    co_await use_disk_alone(std::move(why));
    co_return;
  }
  in_memory_ = true;
  co_await disk_.point_folder(folder);
}

/// The next save has to fit.
asio::awaitable<void> CheckpointKeeper::make_room(bool workers_run) {
  const std::int64_t needed = bytes_of_save(current_.files.empty() ? nullptr : &current_);
  const std::int64_t missing = bytes_short(needed, room_in(*memory_->tier));
  auto paths = files_to_leave_on_disk(current_, disk_.there(), missing);
  if (!paths.empty()) co_await leave_on_disk(std::move(paths));
  std::string why = no_room_for(needed, room_in(*memory_->tier));
  if (!why.empty() && !workers_run) co_await use_disk_alone(std::move(why));
}

asio::awaitable<void> CheckpointKeeper::leave_on_disk(std::vector<std::string> paths) {
  auto all = std::make_shared<std::vector<Snapshot>>(kept_);
  all->push_back(current_);
  std::function<bool(Memory&)> leave = [all, paths = std::move(paths)](Memory& memory) {
    memory.tier->leave_on_disk(paths, *all);
    return true;
  };
  if (!co_await ask(std::move(leave))) co_return;
  current_ = all->back();
  for (Snapshot& kept : kept_)  // some may have been forgotten meanwhile
    for (const Snapshot& left : *all)
      if (is_same(kept, left)) kept = left;
}

asio::awaitable<void> CheckpointKeeper::use_disk_alone(std::string why) {
  write_unwritten();
  const bool flushed = co_await disk_.flush();
  if (!flushed || !is_written()) co_return;  // it is in memory alone
  log::warn("checkpoints are written to '{}' alone, not to memory: {}", spec_.disk, why);
  co_await disk_.forget_list();
  co_await disk_.point_folder(spec_.disk);
  co_await drop_memory();
}

// --- while workers run ---

asio::awaitable<void> CheckpointKeeper::keep_saves() {
  while (!ended_) {
    const auto due = workers_run_ && in_memory_ ? saves_.next_look() : std::nullopt;
    if (!due || Clock::now() < *due) {
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

asio::awaitable<void> CheckpointKeeper::look_for_save() {
  auto seen = co_await look();
  const TimePoint now = Clock::now();
  if (!seen) seen.emplace().open.push_back(spec_.folder);  // it is changing: the next look tells
  if (!workers_run_) co_return;
  const auto wants = saves_.step(*seen, current_, now);
  if (const std::string path = saves_.told_open(now); !path.empty())
    log::warn(
        "no checkpoint is kept: '{}' in '{}' is open for writing, or has the name of an unfinished "
        "file, for {} by now",
        path, spec_.folder, seconds_text(kTellOpenAfter));
  if (wants != SaveWatch::Wants::kKeep) co_return;
  const bool kept = co_await take_snapshot(seen->state);
  saves_.step(SnapshotKept{kept}, current_, Clock::now());
}

/// nullopt: the folder cannot be read, as while it is changing, or for a reason that is logged.
asio::awaitable<std::optional<FolderLooked>> CheckpointKeeper::look() {
  using Seen = Result<FolderLooked>;
  std::function<Seen(Memory&)> work = [disk = spec_.disk](Memory& memory) -> Seen {
    const fs::path& folder = memory.tier->folder();
    auto state = list_folder(folder, disk);
    if (!state) return state.error();
    auto open = open_for_writing(folder, *state);
    return FolderLooked{std::move(*state), std::move(open)};
  };
  auto seen = co_await ask(std::move(work));
  if (!seen) co_return std::nullopt;
  if (*seen) co_return std::move(**seen);
  if (seen->error().kind == Error::Kind::kInvalid && !std::exchange(told_unfit_, true))
    log::warn("no checkpoint is kept: {}", seen->error().message);
  co_return std::nullopt;
}

asio::awaitable<bool> CheckpointKeeper::take_snapshot(FolderState state) {
  using Taken = Result<std::optional<Snapshot>>;
  std::function<Taken(Memory&)> work = [state = std::move(state), previous = current_,
                                        number = number_ + 1](Memory& memory) {
    return memory.tier->take(state, previous, number, memory.pace);
  };
  auto taken = co_await ask(std::move(work));
  if (taken && !*taken) log::warn("a checkpoint is not kept: {}", taken->error().message);
  if (!taken || !*taken || !**taken) co_return false;
  ++number_;
  current_ = std::move(***taken);
  kept_.push_back(current_);
  tell_(news_of(current_, CheckpointNews::What::kKept));
  write_unwritten();
  forget_old();
  co_await make_room(true);
  co_return true;
}

/// The newest snapshot goes to disk, also one that an earlier job has left in memory.
void CheckpointKeeper::write_unwritten() {
  if (is_written() || disk_.needed() == kept_.back().number) return;
  disk_.write(kept_.back(), memory_->tier->files_of(kept_.back()), memory_->tier->folder());
}

void CheckpointKeeper::forget_old() {
  const std::size_t count = kept_.size();
  std::size_t at = 0;
  forget_if([&](const Snapshot&) { return ++at + kSnapshotsKept <= count; });
}

/// The disk may still need its files.
void CheckpointKeeper::forget_if(const std::function<bool(const Snapshot&)>& unwanted) {
  std::erase_if(kept_, [&](const Snapshot& kept) {
    if (!unwanted(kept) || kept.number == disk_.needed()) return false;
    queue_.add([memory = memory_, number = kept.number] { memory->tier->forget(number); });
    return true;
  });
}

bool CheckpointKeeper::is_written() const {
  return kept_.empty() || kept_.back().taken_unix_ms <= disk_.there().taken_unix_ms;
}

std::optional<KeptCheckpoints> CheckpointKeeper::status() const {
  if (!in_memory_) return std::nullopt;
  KeptCheckpoints status{.written = title_of(disk_.there())};
  if (current_.files.empty()) return status;
  status.newest = title_of(current_);
  status.bytes = new_bytes(current_);
  status.age_ms = std::max<std::int64_t>(unix_time_ms() - current_.taken_unix_ms, 0);
  return status;
}

void CheckpointKeeper::hurry(bool on) {
  memory_->pace.hurry(on);
  disk_.hurry(on);
}

}  // namespace ddprun
