// CheckpointKeeper: keeps the checkpoints of a program that knows nothing of it. The program's
// folder is in memory while its workers run. Whenever a save has ended, a snapshot of the folder is
// taken, and written to disk in the background. When workers were lost, the folder is put back as
// the newest whole snapshot has it, before others start.
//
// It performs: SaveWatch decides when a save has ended, memory_budget.hpp what fits, put_back.hpp
// what is to be done to a folder.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/checkpoints/checkpoint_link.hpp"
#include "agent/checkpoints/checkpoint_news.hpp"
#include "agent/checkpoints/disk_writer.hpp"
#include "agent/checkpoints/folder_watch.hpp"
#include "agent/checkpoints/memory_tier.hpp"
#include "agent/checkpoints/pace.hpp"
#include "agent/checkpoints/save_watch.hpp"
#include "agent/checkpoints/snapshot.hpp"
#include "base/asio.hpp"
#include "base/result.hpp"
#include "base/system/left_behind.hpp"
#include "rendezvous/messages/kept_checkpoints.hpp"

namespace ddprun {

/// Where folders in memory are.
inline constexpr char kMemoryFileSystem[] = "/dev/shm";

class CheckpointKeeper {
 public:
  using Listener = std::function<void(const CheckpointNews&)>;

  CheckpointKeeper(const asio::any_io_executor& executor, CheckpointSpec spec, Listener tell,
                   std::filesystem::path memory = kMemoryFileSystem);
  CheckpointKeeper(const CheckpointKeeper&) = delete;

  /// Puts the program's folder into memory, as the newest snapshot has it that an earlier job has
  /// left in memory or on disk. Where memory is short, the folder is the one on disk, and a warning
  /// says so. Errors: kInvalid, kDenied, kUnavailable, kTimeout: then nothing has been changed.
  asio::awaitable<Result<void>> begin();

  /// A worker was lost, or all are stopped: what they leave in the folder from now on may be half
  /// of a save.
  void workers_end() { workers_run_ = false; }

  /// No worker of the round is alive. The folder is put back; if all have ended `well`, so that
  /// none was cut off while it saved, it is kept as it is.
  asio::awaitable<void> end_round(bool well);

  /// The job has ended: what is kept is written to disk, and the program's folder leads there.
  asio::awaitable<void> end();

  /// Whether end() could write all that was kept.
  bool has_written() const { return has_all_ && is_written(); }

  /// What is kept; nullopt: checkpoints are on disk alone.
  std::optional<KeptCheckpoints> status() const;

  /// end() need not write any more: what is in memory stays there for the next job.
  void give_up_writing() { disk_.give_up(); }

 private:
  /// The thread has it, and may outlive all else.
  struct Memory {
    std::optional<MemoryTier> tier;
    Pace pace;
  };

  asio::awaitable<Result<void>> open_memory();
  asio::awaitable<void> mend_link();
  asio::awaitable<void> put_back_newest();
  asio::awaitable<Result<void>> put_back(std::shared_ptr<const Snapshot> snapshot);
  asio::awaitable<void> make_room(bool workers_run);
  asio::awaitable<void> leave_on_disk(std::vector<std::string> paths);
  asio::awaitable<void> use_disk_alone(std::string why);
  asio::awaitable<void> use_memory();
  asio::awaitable<void> drop_memory();
  asio::awaitable<void> keep_saves();
  asio::awaitable<void> look_for_save();
  asio::awaitable<std::optional<FolderLooked>> look();
  asio::awaitable<bool> take_snapshot(FolderState state);
  void write_unwritten();
  void forget_old();
  void forget_if(const std::function<bool(const Snapshot&)>& unwanted);
  void hurry(bool on);
  bool is_written() const;
  template <typename T>
  asio::awaitable<std::optional<T>> ask(std::function<T(Memory&)> question);

  const CheckpointSpec spec_;
  const Listener tell_;
  const std::filesystem::path file_system_;
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  LeftBehindQueue queue_;  // for what is in memory
  DiskWriter disk_;
  FolderWatch watch_;
  SaveWatch saves_;
  asio::steady_timer alarm_;    // for the next look, or cancelled when that changes
  asio::steady_timer idle_;     // cancelled when nothing of a look is in progress any more
  std::vector<Snapshot> kept_;  // in memory, the oldest first
  Snapshot current_;            // the folder as it was last
  int number_ = 0;              // the last snapshot's
  int own_since_ = 0;           // the first snapshot that this process has taken
  bool in_memory_ = false;      // the program's folder is
  bool workers_run_ = false;
  bool busy_ = false;  // with a look or a snapshot
  bool ended_ = false;
  bool has_all_ = true;      // the workers' last save is kept
  bool told_unfit_ = false;  // that a file there cannot be kept
};

}  // namespace ddprun
