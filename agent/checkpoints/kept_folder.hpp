// KeptFolder: the program's folder of checkpoints, in memory, and what is kept of it there and on
// disk. It performs what a keeper decides; a thread of its own reads and copies.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/checkpoints/checkpoint_keeper.hpp"
#include "agent/checkpoints/disk_writer.hpp"
#include "agent/checkpoints/folder_watch.hpp"
#include "agent/checkpoints/kept_snapshots.hpp"
#include "agent/checkpoints/memory_budget.hpp"
#include "agent/checkpoints/memory_tier.hpp"
#include "agent/checkpoints/pace.hpp"
#include "agent/checkpoints/save_watch.hpp"
#include "agent/checkpoints/snapshot.hpp"
#include "base/machine/oom_counters.hpp"
#include "base/system/left_behind.hpp"

namespace ddprun {

/// The older one is for when the newest turns out to be bad.
inline constexpr std::size_t kSnapshotsKept = 2;

class KeptFolder {
 public:
  /// The thread has it, and may outlive all else.
  struct Memory {
    std::optional<MemoryTier> tier;
    Pace pace;
  };

  /// `touched` is called when something happens in the program's folder, `written` when a snapshot
  /// is on disk.
  KeptFolder(const asio::any_io_executor& executor, CheckpointSpec spec, CheckpointListener tell,
             std::filesystem::path memory, std::function<void()> touched,
             std::function<void()> written);
  KeptFolder(const KeptFolder&) = delete;

  /// Finds out what is on disk, and in memory of an earlier job. If there is no memory, the
  /// folder is the one on disk. Errors: those of DiskWriter::open(), and kUnavailable where another
  /// job uses the memory.
  asio::awaitable<Result<void>> open();
  bool has_memory() const { return memory_->tier.has_value(); }
  /// The program's folder is in memory.
  bool in_memory() const { return in_memory_; }
  const std::filesystem::path& folder() const { return memory_->tier->folder(); }

  /// What is there now; nullopt: the folder cannot be read, as while it is changing, or for a
  /// reason that is logged.
  asio::awaitable<std::optional<FolderLooked>> look();

  /// Keeps the folder, which has to be as in `state`, as a snapshot with that number and place; 0:
  /// the next number. Returns whether it is kept.
  asio::awaitable<bool> take(FolderState state, Snapshot header);

  /// Puts the folder back. `older`: because the one that was put back last failed alike each time.
  /// Errors: kInvalid where a file of it is damaged: then it is forgotten.
  asio::awaitable<Result<void>> put_back(Snapshot snapshot, bool older);

  /// The next save has to fit.
  asio::awaitable<void> make_room(bool workers_run);
  asio::awaitable<void> use_disk_alone(std::string why);
  /// Programs remove their folder, and make it again: then nothing is kept any more.
  asio::awaitable<void> mend_link();
  /// Nothing stays in memory.
  asio::awaitable<void> drop();
  /// The newest snapshot goes to disk, also one that an earlier job has left in memory.
  void write_unwritten();
  bool is_written() const;

  /// Forgets snapshots, but those that the disk still needs.
  void forget_if(const std::function<bool(const Snapshot&)>& unwanted);
  void forget(const std::vector<Snapshot>& gone);
  /// Also copies. What has that number or a greater one was never complete.
  void forget_from(int number);
  /// All nodes have their part of that snapshot; others' workers have removed these files.
  void let_count(const CheckpointOrder& order);

  /// Threads that work on it hold it, too.
  const std::shared_ptr<Memory>& memory() const { return memory_; }
  KeptSnapshots& snapshots() { return snapshots_; }
  const KeptSnapshots& snapshots() const { return snapshots_; }
  /// The folder as it was last.
  const Snapshot& current() const { return current_; }
  MemoryRoom room() const;
  DiskWriter& disk() { return disk_; }

  KeptCheckpoints status() const;
  /// As of Pace.
  void hurry(bool on);

 private:
  asio::awaitable<Result<void>> open_memory();
  asio::awaitable<void> leave_on_disk(std::vector<std::string> paths);
  asio::awaitable<void> use_memory();
  template <typename T>
  asio::awaitable<std::optional<T>> ask(std::function<T(Memory&)> question);

  const CheckpointSpec spec_;
  const CheckpointListener tell_;
  const std::filesystem::path file_system_;
  const std::function<void()> touched_;
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  LeftBehindQueue queue_;  // for what is in memory
  DiskWriter disk_;
  FolderWatch watch_;
  KeptSnapshots snapshots_;
  Snapshot current_;
  std::string put_back_;      // the name of the last one that was
  int number_ = 0;            // the greatest of a snapshot so far
  int own_since_ = 0;         // the first snapshot that this process has taken
  std::int64_t cut_off_ = 0;  // bytes of the save that workers had not ended before
  OomCounters oom_before_ = read_oom_counters();
  bool in_memory_ = false;
  bool told_unfit_ = false;  // that a file there cannot be kept
};

/// What people hear of it.
CheckpointNews news_of(const Snapshot& snapshot, CheckpointNews::What what);

}  // namespace ddprun
