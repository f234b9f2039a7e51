// LoneKeeper: the CheckpointKeeper of a job on one node. SaveWatch decides when a save has ended.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <filesystem>
#include <set>
#include <vector>

#include "agent/checkpoints/checkpoint_keeper.hpp"
#include "agent/checkpoints/kept_folder.hpp"
#include "agent/checkpoints/save_watch.hpp"

namespace ddprun {

class LoneKeeper : public CheckpointKeeper {
 public:
  LoneKeeper(const asio::any_io_executor& executor, CheckpointSpec spec, CheckpointListener tell,
             std::filesystem::path memory = kMemoryFileSystem);

  asio::awaitable<Result<void>> begin() override;
  asio::awaitable<Result<void>> begin_round(Round round) override;
  void workers_end() override { workers_run_ = false; }
  asio::awaitable<void> end_round(bool well) override;
  asio::awaitable<void> end(bool goes_on) override;
  bool has_written() const override { return has_all_ && kept_.is_written(); }
  std::optional<KeptCheckpoints> status() const override;
  void give_up_writing() override { kept_.disk().give_up(); }

 private:
  asio::awaitable<void> put_back_newest(bool older);
  bool leave_out_failing(std::vector<Snapshot>& newest_first, bool older);
  asio::awaitable<void> keep_saves();
  asio::awaitable<void> look_for_save();
  asio::awaitable<bool> keep(FolderState state);
  void forget_old();

  const CheckpointSpec spec_;
  const CheckpointListener tell_;
  KeptFolder kept_;
  SaveWatch saves_;
  asio::steady_timer alarm_;         // for the next look, or cancelled when that changes
  asio::steady_timer idle_;          // cancelled when nothing of a look is in progress any more
  std::int64_t loaded_unix_ms_ = 0;  // when the one was kept that was put back last
  int times_loaded_ = 0;             // one round after the other
  std::set<std::int64_t> failing_;   // those that failed alike each time, by the same
  bool workers_run_ = false;
  bool is_put_back_ = false;
  bool busy_ = false;  // with a look or a snapshot
  bool ended_ = false;
  bool has_all_ = true;  // the workers' last save is kept
};

}  // namespace ddprun
