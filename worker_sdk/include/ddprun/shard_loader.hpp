// ShardLoader: batches out of tar shards, which threads read and decode ahead, in an order that
// does not depend on the threads. Needs no LibTorch.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <ddprun/stateful.hpp>
#include <ddprun/tar_shards.hpp>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ddprun::sdk {

/// How batches are made of shards.
struct ShardLoaderOptions {
  TarShardsOptions shards = {};  // `worker` and `workers` are the loader's business
  std::int64_t batch_size = 1;   // samples in a batch, at least 1
  int workers = 1;               // threads, at least 1; each has shards of its own
  int prefetch = 2;              // batches that each thread may be ahead of the caller, at least 1
  bool drop_last = false;        // leaves out a thread's last batch, where it is smaller
};

/// Where a loader stands: what each of its streams has delivered.
struct ShardLoaderState {
  std::string identity;                // TarShards::identity() of the first stream
  std::size_t turn = 0;                // the stream that comes next
  std::vector<ShardState> streams;     // one for each thread
  std::vector<std::uint8_t> finished;  // 1: this stream has had its last batch of the epoch
};

/// As text, and back. Errors of the second: std::invalid_argument for a text that is none, or one
/// that `expected` does not fit: it has another identity or another number of streams.
std::string to_text(const ShardLoaderState& state);
ShardLoaderState parse_shard_loader_state(const std::string& text,
                                          const ShardLoaderState& expected);

/// Throws std::invalid_argument for options that make no sense.
void check_options(const ShardLoaderOptions& options);

/// The batches of this rank's shards, epoch after epoch. Batch n comes from stream n modulo
/// `workers`, as long as that one has any in the epoch. Ranks have as many batches as their shards
/// give, so the numbers differ; DistributedDataParallel::join() is for that, and so is going on
/// into the next epoch until as many steps are done as all ranks shall make. One thread uses it:
///
///     ShardLoader<Batch> loader{expand_shards("train-{000..146}.tar"), decode,
///                               {.shards = {.rank = group.rank(), .world_size = group.size(),
///                                           .shuffle_buffer = 1000},
///                                .batch_size = 32, .workers = 4}};
///     checkpointer.keep_of_each_rank("data", loader);  // so a resume goes on behind the last
///     batch while (auto batch = loader.next()) ...           // one epoch
template <typename Batch>
class ShardLoader : public Stateful {
 public:
  /// Makes a batch of samples. Every thread calls its own copy of it.
  using Decode = std::function<Batch(std::vector<ShardSample>)>;

  /// Errors: std::invalid_argument for options that make no sense, or fewer shards than streams.
  ShardLoader(std::vector<std::filesystem::path> shards, Decode decode,
              const ShardLoaderOptions& options)
      : shards_{std::move(shards)}, decode_{std::move(decode)}, options_{options} {
    check_options(options_);
    make_workers(nullptr);
  }

  /// Waits for the batches that are being made, and drops those that were not asked for.
  ~ShardLoader() override { stop(); }
  ShardLoader(const ShardLoader&) = delete;
  ShardLoader& operator=(const ShardLoader&) = delete;

  /// Returns the next batch; nullopt at the end of an epoch, after which the next one begins. The
  /// first call starts the threads. Errors: those of TarShards::next(), and what `decode` has
  /// thrown, in the batch's place. The loader cannot go on then.
  std::optional<Batch> next() {
    start();
    for (;;) {
      if (std::ranges::all_of(place_.finished, [](auto one) { return one != 0; })) {
        std::ranges::fill(place_.finished, 0);
        place_.turn = 0;
        return std::nullopt;
      }
      const std::size_t turn = place_.turn;
      place_.turn = (turn + 1) % workers_.size();
      if (place_.finished[turn] != 0) continue;
      Made made = take(turn);
      place_.streams[turn] = std::move(made.after);
      place_.finished[turn] = made.last ? 1 : 0;
      if (made.batch) return std::move(made.batch);
    }
  }

  /// The place behind the batches that next() has returned, whatever was read ahead.
  std::string save_state() const override { return to_text(place_); }

  /// Goes on there. Errors: std::invalid_argument for a text that is none of a loader with the same
  /// shards and options; those of TarShards::resume().
  void restore_state(const std::string& state) override {
    const ShardLoaderState place = parse_shard_loader_state(state, place_);
    stop();
    make_workers(&place);
  }

 private:
  struct Made {
    std::optional<Batch> batch;
    std::exception_ptr error;
    ShardState after;
    bool last = false;  // the last of its stream in this epoch
  };
  struct Worker {
    explicit Worker(TarShards its_stream) : stream{std::move(its_stream)} {}
    TarShards stream;
    std::deque<Made> made;
    std::thread thread;
  };

  /// `place`: where to go on; null: at the beginning.
  void make_workers(const ShardLoaderState* place) {
    std::deque<Worker> workers;
    ShardLoaderState begin;
    for (int i = 0; i < options_.workers; ++i) {
      TarShardsOptions own = options_.shards;
      own.worker = i;
      own.workers = options_.workers;
      Worker& worker = workers.emplace_back(TarShards{shards_, own});
      if (place != nullptr) worker.stream.resume(place->streams[i]);
      if (i == 0) begin.identity = worker.stream.identity();
      begin.streams.push_back(worker.stream.state());
    }
    begin.finished.assign(workers.size(), 0);
    place_ = place != nullptr ? *place : std::move(begin);
    workers_ = std::move(workers);
  }

  void start() {
    if (workers_.front().thread.joinable()) return;
    stopping_ = false;
    for (Worker& worker : workers_)
      worker.thread = std::thread{[this, &worker, decode = decode_] { work(worker, decode); }};
  }

  void stop() {
    {
      const std::lock_guard lock{mutex_};
      stopping_ = true;
    }
    changed_.notify_all();
    for (Worker& worker : workers_)
      if (worker.thread.joinable()) worker.thread.join();
  }

  Made take(std::size_t number) {
    Worker& worker = workers_[number];
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return !worker.made.empty(); });
    if (worker.made.front().error) {  // it stays, for its thread has ended
      place_.turn = number;
      std::rethrow_exception(worker.made.front().error);
    }
    Made made = std::move(worker.made.front());
    worker.made.pop_front();
    lock.unlock();
    changed_.notify_all();
    return made;
  }

  /// Runs in each thread.
  void work(Worker& worker, const Decode& decode) {
    std::unique_lock lock{mutex_};
    for (bool failed = false; !failed;) {
      changed_.wait(lock, [&] {
        return stopping_ || worker.made.size() < static_cast<std::size_t>(options_.prefetch);
      });
      if (stopping_) return;
      lock.unlock();
      Made made = make(worker.stream, decode);
      failed = made.error != nullptr;
      lock.lock();
      worker.made.push_back(std::move(made));
      changed_.notify_all();
    }
  }

  Made make(TarShards& stream, const Decode& decode) const {
    Made made;
    try {
      std::vector<ShardSample> samples;
      while (!made.last && static_cast<std::int64_t>(samples.size()) < options_.batch_size) {
        auto sample = stream.next();
        if (sample)
          samples.push_back(*std::move(sample));
        else
          made.last = true;
      }
      if (!samples.empty() && !(made.last && options_.drop_last))
        made.batch.emplace(decode(std::move(samples)));
      made.after = stream.state();
    } catch (...) {
      made.error = std::current_exception();
    }
    return made;
  }

  std::vector<std::filesystem::path> shards_;
  Decode decode_;
  ShardLoaderOptions options_;
  ShardLoaderState place_;  // behind what next() has returned

  std::mutex mutex_;  // guards the workers' `made`, and all that follows
  std::condition_variable changed_;
  bool stopping_ = false;
  std::deque<Worker> workers_;
};

}  // namespace ddprun::sdk
