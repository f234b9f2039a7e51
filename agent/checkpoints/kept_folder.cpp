#include "agent/checkpoints/kept_folder.hpp"

#include <algorithm>
#include <utility>

#include "agent/checkpoints/memory_budget.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/machine/cgroups.hpp"
#include "base/machine/sysfs_files.hpp"
#include "base/system/late_answer.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kTasksMax = 16;

}  // namespace

CheckpointNews news_of(const Snapshot& snapshot, CheckpointNews::What what) {
  return {.what = what,
          .name = title_of(snapshot),
          .number = snapshot.number,
          .bytes = new_bytes(snapshot)};
}

KeptFolder::KeptFolder(const asio::any_io_executor& executor, CheckpointSpec spec,
                       CheckpointListener tell, fs::path memory, std::function<void()> touched,
                       std::function<void()> written)
    : spec_{std::move(spec)},
      tell_{std::move(tell)},
      file_system_{std::move(memory)},
      touched_{std::move(touched)},
      queue_{kTasksMax, LeftBehindQueue::Files::kOwn},
      disk_{executor, spec_,
            [this, written = std::move(written)] {
              tell_(news_of(disk_.there(), CheckpointNews::What::kWritten));
              written();
            }},
      watch_{executor} {}

template <typename T>
asio::awaitable<std::optional<T>> KeptFolder::ask(std::function<T(Memory&)> question) {
  std::function<T()> work = [memory = memory_, question = std::move(question)] {
    return question(*memory);
  };
  return late_answer(queue_, TimePoint::max(), std::move(work));
}

asio::awaitable<Result<void>> KeptFolder::open() {
  if (auto opened = co_await disk_.open(); !opened) co_return opened;
  number_ = disk_.there().number;
  auto opened = co_await open_memory();
  co_return opened;
}

asio::awaitable<Result<void>> KeptFolder::open_memory() {
  using Found = Result<std::vector<Snapshot>>;
  std::function<Found(Memory&)> open = [root = file_system_,
                                        spec = spec_](Memory& memory) -> Found {
    auto tier = MemoryTier::open(root, spec);
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
  snapshots_ = KeptSnapshots{std::move(**found)};
  for (const Snapshot& snapshot : snapshots_.own()) number_ = std::max(number_, snapshot.number);
  own_since_ = number_ + 1;
  co_return Result<void>{};
}

asio::awaitable<void> KeptFolder::drop() {
  in_memory_ = false;
  watch_.end();
  std::function<bool(Memory&)> remove = [](Memory& memory) {
    if (memory.tier) memory.tier->remove();
    return true;
  };
  co_await ask(std::move(remove));
  snapshots_ = {};
  current_ = {};
}

asio::awaitable<void> KeptFolder::mend_link() {
  const std::string what = co_await disk_.became_of_link(folder());
  if (what.empty()) co_return;
  log::warn("{}: no checkpoint is kept until the job is started again", what);
  in_memory_ = false;
  const bool flushed = co_await disk_.flush();
  if (flushed && is_written()) co_await drop();
}

asio::awaitable<Result<void>> KeptFolder::put_back(Snapshot wanted, bool older) {
  const auto snapshot = std::make_shared<const Snapshot>(std::move(wanted));
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
  if (older) news.failing = put_back_;
  put_back_ = news.name;
  // What other nodes have saved, the program reads on disk.
  for (const KeptFile& file : snapshot->files)
    if (spec_.shared && file.facts.on_disk && file.facts.path.starts_with(news.name + "/"))
      news.bytes_from_disk += file.facts.bytes;
  tell_(news);
  cut_off_ = result.bytes_cut_off;
  current_ = std::move(result.snapshot);
  snapshots_.replace(current_);
  if (!in_memory_) co_await use_memory();
  co_return Result<void>{};
}

asio::awaitable<void> KeptFolder::use_memory() {
  const auto touched = [this](const std::string& path) {
    if (!is_log(path)) touched_();
  };
  const auto watched = watch_.begin(folder(), touched);
  if (!watched) {
    std::string why = watched.error().message;
    co_await use_disk_alone(std::move(why));
    co_return;
  }
  in_memory_ = true;
  co_await disk_.point_folder(folder());
}

MemoryRoom KeptFolder::room() const {
  MemoryRoom room{.file_system = memory_->tier->free_bytes(),
                  .machine = machine_memory("/").available_bytes};
  if (const auto cgroup = cgroup_memory("/")) room.cgroup = cgroup->max - cgroup->used;
  room.has_killed = killed_in_cgroup(oom_before_, read_oom_counters()) > 0;
  return room;
}

asio::awaitable<void> KeptFolder::make_room(bool workers_run) {
  const std::int64_t needed = bytes_of_save(&current_, cut_off_);
  const std::int64_t missing = bytes_short(needed, room());
  auto paths = files_to_leave_on_disk(current_, disk_.there(), missing);
  if (!paths.empty()) co_await leave_on_disk(std::move(paths));
  std::string why = no_room_for(needed, room());
  if (why.empty() || workers_run) co_return;
  // All nodes continue from what this one has in memory alone: the next round begins on disk.
  if (spec_.shared && current_.number > disk_.there().number) co_return;
  co_await use_disk_alone(std::move(why));
}

asio::awaitable<void> KeptFolder::leave_on_disk(std::vector<std::string> paths) {
  auto all = std::make_shared<std::vector<Snapshot>>(snapshots_.own());
  all->push_back(current_);
  std::function<bool(Memory&)> leave = [all, paths = std::move(paths)](Memory& memory) {
    memory.tier->leave_on_disk(paths, *all);
    return true;
  };
  if (!co_await ask(std::move(leave))) co_return;
  current_ = all->back();
  for (const Snapshot& left : *all) snapshots_.replace(left);  // some may have gone meanwhile
}

asio::awaitable<void> KeptFolder::use_disk_alone(std::string why) {
  write_unwritten();
  const bool flushed = co_await disk_.flush();
  const bool is_all_there = flushed && is_written();
  if (!spec_.shared && !is_all_there) co_return;  // it is in memory alone
  log::warn("checkpoints are written to '{}' alone, not to memory: {}", spec_.disk, why);
  if (!spec_.shared) co_await disk_.forget_list();
  co_await disk_.point_folder(spec_.disk);
  co_await drop();
}

asio::awaitable<std::optional<FolderLooked>> KeptFolder::look() {
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

asio::awaitable<bool> KeptFolder::take(FolderState state, Snapshot header) {
  if (header.number == 0) header.number = number_ + 1;
  using Taken = Result<std::optional<Snapshot>>;
  std::function<Taken(Memory&)> work = [state = std::move(state), previous = current_,
                                        header](Memory& memory) {
    return memory.tier->take(state, previous, header, memory.pace);
  };
  auto taken = co_await ask(std::move(work));
  if (taken && !*taken) log::warn("a checkpoint is not kept: {}", taken->error().message);
  if (!taken || !*taken || !**taken) co_return false;
  number_ = std::max(number_, header.number);
  current_ = std::move(***taken);
  snapshots_.add(current_);
  co_return true;
}

void KeptFolder::let_count(const CheckpointOrder& order) {
  const Snapshot* const counts = snapshots_.find(order.number);
  const bool is_current = counts != nullptr && is_same(*counts, current_);
  auto gone = snapshots_.let_count(order);
  if (counts == nullptr) return;
  if (is_current) current_ = *counts;
  queue_.add([memory = memory_, snapshot = *counts, gone = std::move(gone)] {
    memory->tier->remove_files(gone);
    memory->tier->list_again(snapshot);
  });
}

void KeptFolder::write_unwritten() {
  if (spec_.shared || is_written() || disk_.needed() == snapshots_.own().back().number) return;
  const Snapshot& newest = snapshots_.own().back();
  disk_.write(newest, memory_->tier->files_of(newest), folder());
}

void KeptFolder::forget_if(const std::function<bool(const Snapshot&)>& unwanted) {
  const auto needless = [&](const Snapshot& kept) {
    return unwanted(kept) && kept.number != disk_.needed();
  };
  forget(snapshots_.take_if(needless));
}

void KeptFolder::forget(const std::vector<Snapshot>& gone) {
  for (const Snapshot& snapshot : gone)
    queue_.add([memory = memory_, snapshot] { memory->tier->forget(snapshot); });
}

void KeptFolder::forget_from(int number) {
  const auto is_newer = [&](const Snapshot& kept) { return kept.number >= number; };
  forget_if(is_newer);
  forget(snapshots_.take_copies_if(is_newer));
}

bool KeptFolder::is_written() const {
  return snapshots_.own().empty() ||
         snapshots_.own().back().taken_unix_ms <= disk_.there().taken_unix_ms;
}

KeptCheckpoints KeptFolder::status() const {
  const auto age = [now = unix_time_ms()](const Snapshot& of) {
    return std::max<std::int64_t>(now - of.taken_unix_ms, 0);
  };
  const Snapshot& there = disk_.there();
  KeptCheckpoints status{.written = title_of(there)};
  if (there.number > 0) {
    status.written_bytes = new_bytes(there);
    status.written_age_ms = age(there);
  }
  if (current_.files.empty()) return status;
  status.newest = title_of(current_);
  status.bytes = new_bytes(current_);
  status.age_ms = age(current_);
  return status;
}

void KeptFolder::hurry(bool on) {
  memory_->pace.hurry(on);
  disk_.hurry(on);
}

}  // namespace ddprun
