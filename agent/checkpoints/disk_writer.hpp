// DiskWriter: writes snapshots to disk beside a training, one after the other; of those that wait,
// the newest alone. A disk that is full or gone holds nobody up: it is tried again.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/checkpoints/checkpoint_link.hpp"
#include "agent/checkpoints/disk_tier.hpp"
#include "agent/checkpoints/pace.hpp"
#include "agent/checkpoints/snapshot.hpp"
#include "base/asio.hpp"
#include "base/result.hpp"
#include "base/system/left_behind.hpp"

namespace ddprun {

/// When a disk does nothing for that long, nobody waits for it any more.
inline constexpr std::chrono::seconds kDiskPatience{60};

class DiskWriter {
 public:
  /// `written` is called when a snapshot is on disk.
  DiskWriter(const asio::any_io_executor& executor, CheckpointSpec spec,
             std::function<void()> written);
  DiskWriter(const DiskWriter&) = delete;

  /// Whether the program's folder can be used, and what is on disk; see DiskTier::open(). Errors:
  /// those of check_checkpoint_folder() and of DiskTier, and kTimeout.
  asio::awaitable<Result<void>> open();

  /// Writes the snapshot, the files of which are in `files`, or else in `folder`; it takes the
  /// place of one that waits.
  void write(const Snapshot& snapshot, std::filesystem::path files, std::filesystem::path folder);

  /// Waits until all is written, or nothing can be. Returns whether it is.
  asio::awaitable<bool> flush();

  // Where several nodes share the folder, they do this one step after the other. See DiskTier.
  // Errors: those of it, and kTimeout where the disk does nothing for kDiskPatience.

  /// Writes a part, the files of which are in `files`, or else in `folder`, and the logs there.
  asio::awaitable<Result<void>> stage(const Snapshot& part, std::filesystem::path files,
                                      std::filesystem::path folder);
  /// Makes one snapshot of the parts that were staged; `number` 0: sees what is there.
  asio::awaitable<Result<void>> move(int number, int parts);
  /// Reads what another node has written, of that number or a later one.
  asio::awaitable<Result<void>> read(int number);

  /// Copies the logs in that folder, too.
  asio::awaitable<void> write_logs(std::filesystem::path folder);

  /// Makes the program's folder a link to `target`. A failure is logged.
  asio::awaitable<void> point_folder(std::filesystem::path target);

  /// What has become of that link, as what_became_of() says it.
  asio::awaitable<std::string> became_of_link(std::filesystem::path target);

  /// The program writes to the disk by itself.
  asio::awaitable<void> forget_list();

  /// What is on disk.
  const Snapshot& there() const { return there_; }
  /// The number of the snapshot that is being written, or waits for it; nullopt: none.
  std::optional<int> needed() const;

  /// As of Pace.
  void hurry(bool on) { work_->pace.hurry(on); }
  /// Nothing more is written.
  void give_up();

 private:
  struct Order {
    Snapshot snapshot;
    std::filesystem::path files, folder;
  };
  /// The thread has it, and may outlive all else.
  struct Work {
    explicit Work(const CheckpointSpec& its_spec) : spec{its_spec}, disk{its_spec.disk} {}
    const CheckpointSpec spec;
    DiskTier disk;
    Pace pace;
  };

  asio::awaitable<void> write_all();
  asio::awaitable<void> write_one(std::shared_ptr<const Order> order);
  asio::awaitable<bool> wait_for_more(asio::steady_timer& ended);
  asio::awaitable<Result<void>> change(std::function<Result<Snapshot>(Work&)> how);
  template <typename T>
  asio::awaitable<std::optional<T>> ask(std::function<T()> question);

  const CheckpointSpec spec_;
  const std::function<void()> written_;
  std::shared_ptr<Work> work_;
  LeftBehindQueue queue_;
  asio::steady_timer news_;            // cancelled when there is something to be written
  asio::steady_timer ended_;           // cancelled when an attempt has ended
  std::shared_ptr<const Order> next_;  // waits
  std::shared_ptr<const Order> writing_;
  Snapshot there_;
  int attempts_ = 0;
  bool runs_ = false;     // write_all()
  bool failing_ = false;  // the last attempt failed, and the user knows
  bool given_up_ = false;
};

}  // namespace ddprun
