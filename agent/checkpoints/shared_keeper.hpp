// SharedKeeper: the CheckpointKeeper of one node of several. It says when its own workers have
// saved, and performs the coordinator's orders; see rendezvous/rounds/job_checkpoints.hpp. The
// folder on disk is the same for all nodes.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/checkpoints/checkpoint_keeper.hpp"
#include "agent/checkpoints/kept_folder.hpp"
#include "agent/checkpoints/peer_parts.hpp"
#include "agent/checkpoints/save_watch.hpp"

namespace ddprun {

class SharedKeeper : public CheckpointKeeper {
 public:
  SharedKeeper(const asio::any_io_executor& executor, CheckpointSpec spec, CheckpointListener tell,
               PeerTls tls = {}, std::filesystem::path memory = kMemoryFileSystem);

  asio::awaitable<Result<void>> begin() override;
  asio::awaitable<Result<void>> begin_round(Round round) override;
  void workers_end() override { workers_run_ = false; }
  asio::awaitable<void> end_round(bool well) override;
  asio::awaitable<void> end(bool goes_on) override;
  bool has_written() const override { return kept_.snapshots().counted() <= written_; }
  std::optional<KeptCheckpoints> status() const override;
  void give_up_writing() override { kept_.disk().give_up(); }

  void speak_with(const Speak& speak) override { speak_ = speak; }
  void obey(const CheckpointOrder& order) override;
  std::optional<HeldCheckpoints> held() const override;
  void joined() override;

 private:
  struct Look {
    FolderLooked seen;
    SaveWatch::Wants wants = SaveWatch::Wants::kNothing;
  };

  asio::awaitable<void> keep_saves();
  asio::awaitable<Look> look();
  asio::awaitable<void> look_for_save();
  asio::awaitable<void> keep_as_ordered();
  asio::awaitable<Result<void>> put_back(const Round& round);
  asio::awaitable<Result<void>> put_back_from_memory(const Round& round);
  asio::awaitable<Result<void>> put_back_from_disk(const Round& round);
  asio::awaitable<void> stage(CheckpointOrder order);
  asio::awaitable<void> move(int number, int parts);
  asio::awaitable<void> note_written(int number);
  void count(const CheckpointOrder& order);
  void forget_old();
  bool is_staging(const Snapshot& part) const;
  void say_saved();

  const CheckpointSpec spec_;
  const CheckpointListener tell_;
  KeptFolder kept_;
  PeerParts peers_;
  SaveWatch saves_;
  Speak speak_ = [](const CheckpointSaid&) {};
  asio::steady_timer alarm_;  // for the next look, or cancelled when that changes or an order comes
  asio::steady_timer idle_;   // cancelled when nothing of a look is in progress any more
  Round round_;
  Snapshot as_counted_;                    // the folder as the last one that counts has it
  std::optional<CheckpointOrder> order_;   // to keep this node's part
  std::optional<TimePoint> keep_at_;       // not before that
  std::set<std::pair<int, int>> staging_;  // numbers and parts that the disk needs
  int written_ = 0;                        // the newest number on disk
  bool ended_well_ = false;
  bool workers_run_ = false;
  bool busy_ = false;  // with a look or a snapshot
  bool ended_ = false;
  bool owes_word_ = false;   // that a save has ended
  bool has_spoken_ = false;  // but no order to keep it has come
};

/// The user hears of a file that keeps the checkpoints from being kept.
void warn_of_open_file(SaveWatch& saves, const CheckpointSpec& spec, TimePoint now);

}  // namespace ddprun
