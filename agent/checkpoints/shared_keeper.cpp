#include "agent/checkpoints/shared_keeper.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "agent/checkpoints/checkpoint_parts.hpp"
#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/number_text.hpp"

namespace ddprun {

namespace fs = std::filesystem;
using Said = CheckpointSaid::What;
using Order = CheckpointOrder::What;

namespace {

constexpr auto kSilently = asio::as_tuple(asio::use_awaitable);

/// What a message can name. The rest stays on other nodes until they remove it themselves.
std::vector<std::string> tellable(std::vector<std::string> paths) {
  std::erase_if(paths,
                [](const std::string& path) { return path.size() > kCheckpointPathBytesMax; });
  if (paths.size() > kRemovedPathsMax) paths.resize(kRemovedPathsMax);
  return paths;
}

}  // namespace

void warn_of_open_file(SaveWatch& saves, const CheckpointSpec& spec, TimePoint now) {
  if (const std::string path = saves.told_open(now); !path.empty())
    log::warn(
        "no checkpoint is kept: '{}' in '{}' is open for writing, or has the name of an unfinished "
        "file, for {} by now",
        path, spec.folder, seconds_text(kTellOpenAfter));
}

SharedKeeper::SharedKeeper(const asio::any_io_executor& executor, CheckpointSpec spec,
                           CheckpointListener tell, PeerTls tls, fs::path memory)
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
            [] {}},
      peers_{executor, kept_, std::move(tls)},
      alarm_{executor},
      idle_{executor, TimePoint::max()} {}

// --- from the beginning to the end ---

/// Which checkpoint is put back is known when a round begins.
asio::awaitable<Result<void>> SharedKeeper::begin() {
  if (auto opened = co_await kept_.open(); !opened) co_return opened;
  written_ = kept_.disk().there().number;
  kept_.hurry(true);
  kept_.forget_if([](const Snapshot& kept) { return !kept.counts; });
  if (kept_.has_memory()) peers_.open();
  start_coroutine(alarm_.get_executor(), keep_saves(), report_failure("keeping checkpoints"));
  co_return Result<void>{};
}

asio::awaitable<Result<void>> SharedKeeper::begin_round(Round round) {
  peers_.give_up_copies();
  while (busy_) co_await idle_.async_wait(kSilently);
  busy_ = true;
  ended_well_ = owes_word_ = false;
  const auto ready = co_await put_back(round);
  if (ready && kept_.has_memory()) {
    co_await kept_.make_room(false);
    as_counted_ = kept_.current();
  }
  // What is newer was not whole, or could not be written.
  kept_.forget_from(round_.checkpoint.number + 1);
  forget_old();
  busy_ = false;
  idle_.cancel();
  alarm_.cancel();
  if (!ready) co_return ready;
  saves_.begin_anew();
  kept_.hurry(false);
  workers_run_ = true;
  co_return Result<void>{};
}

asio::awaitable<Result<void>> SharedKeeper::put_back(const Round& round) {
  round_ = round;
  if (round.checkpoint.number == kUnknownCheckpoint)
    co_return invalid("no node could see which checkpoint is in '" + spec_.disk +
                      "': the one that looked says why");
  if (round.checkpoint.sources.empty() || !kept_.has_memory()) {
    const auto ready = co_await put_back_from_disk(round);
    co_return ready;
  }
  const auto ready = co_await put_back_from_memory(round);
  co_return ready;
}

/// A damaged file of this node's own is got from another one.
asio::awaitable<Result<void>> SharedKeeper::put_back_from_memory(const Round& round) {
  Result<void> ready = invalid("it was never tried");
  for (int attempt = 0; attempt < 2 && !ready && ready.error().kind == Error::Kind::kInvalid;
       ++attempt) {
    const Snapshot* whole = kept_.snapshots().find(round.checkpoint.number);
    if (whole == nullptr || whole->parts != 1) {
      if (attempt > 0) {
        kept_.forget_if([](const Snapshot&) { return true; });
        kept_.forget(
            kept_.snapshots().take_copies_if([](const Snapshot& own) { return !own.copy; }));
      }
      const int node = round.part;
      ready = co_await peers_.gather(round.checkpoint.sources, node);
      if (!ready) continue;
      whole = kept_.snapshots().find(round.checkpoint.number);
    }
    Snapshot wanted = *whole;
    ready = co_await kept_.put_back(std::move(wanted), round.checkpoint.older);
  }
  co_return ready;
}

asio::awaitable<Result<void>> SharedKeeper::put_back_from_disk(const Round& round) {
  auto ready = co_await kept_.disk().read(round.checkpoint.number);
  if (!ready || !kept_.has_memory()) co_return ready;
  const Snapshot& there = kept_.disk().there();
  written_ = there.number;
  round_.checkpoint.number = there.number;
  const Snapshot* const own = kept_.snapshots().find(there.number);
  Snapshot whole = put_together(there, own == nullptr ? Snapshot{} : *own);
  whole.parts = round.parts;
  whole.base = there.number;
  ready = co_await kept_.put_back(std::move(whole), false);
  co_return ready;
}

asio::awaitable<void> SharedKeeper::end_round(bool well) {
  workers_run_ = false;
  order_.reset();
  ended_well_ = well;
  kept_.hurry(true);
  while (busy_) co_await idle_.async_wait(kSilently);
  if (kept_.in_memory()) co_await kept_.mend_link();
}

asio::awaitable<void> SharedKeeper::end(bool goes_on) {
  workers_run_ = false;
  ended_ = true;
  alarm_.cancel();
  peers_.give_up_copies();
  if (!kept_.has_memory()) co_return;
  kept_.hurry(true);
  while (busy_) co_await idle_.async_wait(kSilently);
  const fs::path folder = kept_.folder();
  if (!has_written())
    co_return log::error(
        "{} is not on disk: this node's part of it stays in '{}' until ddprun runs here again with "
        "--checkpoints {}={}",
        title_of(*kept_.snapshots().find(kept_.snapshots().counted())), folder.string(),
        spec_.folder, spec_.disk);
  if (goes_on && ended_well_ && kept_.in_memory()) {
    const auto seen = co_await kept_.look();
    if (!seen || !has_same_files(seen->state, kept_.current()))
      co_return log::warn(
          "what the workers of this node have saved last is on no disk, but in '{}': copy it. "
          "Where "
          "--preempt-signal names the signal that ends them, all nodes keep such a save together",
          folder.string());
  }
  if (kept_.in_memory()) co_await kept_.disk().write_logs(folder);
  // Other nodes may share the program's folder, too, and their workers use it still.
  if (!goes_on) co_await kept_.disk().point_folder(spec_.disk);
  co_await kept_.drop();
}

// --- orders ---

void SharedKeeper::obey(const CheckpointOrder& order) {
  const auto start = [&](asio::awaitable<void> work) {
    start_coroutine(alarm_.get_executor(), std::move(work), report_failure("keeping checkpoints"));
  };
  switch (order.what) {
    case Order::kKeep:
      order_ = order;
      keep_at_ = order.at_end ? std::nullopt : saves_.next_look();
      return static_cast<void>(alarm_.cancel());
    case Order::kCounts:
      return count(order);
    case Order::kStage:
      return start(stage(order));
    case Order::kMove:
      return start(move(order.number, order.parts));
    case Order::kWritten:
      return start(note_written(order.number));
  }
}

asio::awaitable<void> SharedKeeper::keep_as_ordered() {
  const CheckpointOrder order = *std::exchange(order_, std::nullopt);
  CheckpointSaid answer{.what = Said::kKept, .number = order.number};
  const auto [seen, wants] = co_await look();
  // Killed workers may leave half of a save, in which no file is open any more.
  const bool may_save = workers_run_ || ended_well_;
  const bool still = order.at_end ? kept_.in_memory() : may_save && saves_.is_still(seen);
  if (still) {
    // What other nodes have not kept counts with the next one.
    answer.changed = !has_same_files(seen.state, as_counted_);
    Snapshot header;
    header.number = order.number;
    header.part = round_.part;
    header.parts = round_.parts;
    header.base = round_.checkpoint.number;
    // A coordinator that knows of no part that did not count gives its number again.
    kept_.forget_from(order.number);
    answer.done = co_await kept_.take(seen.state, std::move(header));
    if (answer.done) {
      const CheckpointPart own = part_of(kept_.current());
      answer.bytes = own.bytes;
      answer.older_bytes = own.older_bytes;
      answer.taken_unix_ms = own.taken_unix_ms;
      answer.removed = tellable(removed_since(as_counted_, kept_.current()));
      peers_.offer();
    }
  }
  if (wants == SaveWatch::Wants::kKeep)
    saves_.step(SnapshotKept{answer.done}, kept_.current(), Clock::now());
  owes_word_ = !answer.done;
  if (answer.done) has_spoken_ = false;
  speak_(answer);
}

void SharedKeeper::count(const CheckpointOrder& order) {
  kept_.let_count(order);
  const Snapshot* const snapshot = kept_.snapshots().find(order.number);
  if (snapshot != nullptr) as_counted_ = *snapshot;
  if (snapshot != nullptr && new_bytes(*snapshot) > 0)
    tell_(news_of(*snapshot, CheckpointNews::What::kKept));
  forget_old();
  if (order.copies.empty() || !kept_.has_memory()) return;
  CheckpointSaid answer{
      .what = Said::kCopied, .number = order.number, .part = order.copies.front().part.part};
  peers_.copy(order, [this, answer](bool is_here) mutable {
    answer.done = is_here;
    speak_(answer);
  });
}

asio::awaitable<void> SharedKeeper::stage(CheckpointOrder order) {
  CheckpointSaid answer{.what = Said::kStaged, .number = order.number, .part = order.part};
  const Snapshot* const part = kept_.snapshots().find_part(order.number, order.part, order.parts);
  if (part != nullptr) {
    // Else it could be written again while another node moves it.
    if (!staging_.insert({order.number, order.part}).second) co_return;
    fs::path files = kept_.memory()->tier->files_of(*part);
    fs::path folder = kept_.folder();
    const auto staged = co_await kept_.disk().stage(*part, std::move(files), std::move(folder));
    staging_.erase({order.number, order.part});
    answer.done = staged.has_value();
    if (!staged)
      log::warn("checkpoint {} is in memory alone: {}", order.number, staged.error().message);
  }
  speak_(answer);
}

asio::awaitable<void> SharedKeeper::move(int number, int parts) {
  const auto moved = co_await kept_.disk().move(number, parts);
  if (!moved) log::warn("no checkpoint is written to disk: {}", moved.error().message);
  speak_(
      {.what = Said::kWritten, .number = kept_.disk().there().number, .done = moved.has_value()});
}

asio::awaitable<void> SharedKeeper::note_written(int number) {
  const bool is_news = number > written_;
  const auto read = co_await kept_.disk().read(number);
  if (!read) co_return log::warn("{}", read.error().message);
  written_ = kept_.disk().there().number;
  if (is_news) tell_(news_of(kept_.disk().there(), CheckpointNews::What::kWritten));
  forget_old();
}

/// The last ones that count stay, and with them what may count yet.
void SharedKeeper::forget_old() {
  std::vector<int> numbers;
  for (const Snapshot& kept : kept_.snapshots().own())
    if (kept.counts) numbers.push_back(kept.number);
  std::ranges::sort(numbers, std::ranges::greater{});
  if (!numbers.empty()) {
    const int oldest = numbers[std::min(numbers.size(), kSnapshotsKept) - 1];
    const int newest = numbers.front();
    kept_.forget_if([&](const Snapshot& kept) {
      const bool is_in_vain = !kept.counts && kept.number < newest;
      return (kept.number < oldest || is_in_vain) && !is_staging(kept);
    });
  }
  peers_.offer();
}

bool SharedKeeper::is_staging(const Snapshot& part) const {
  return staging_.contains({part.number, part.part});
}

std::optional<HeldCheckpoints> SharedKeeper::held() const {
  HeldCheckpoints held{.parts = {}, .written = written_, .ended_well = ended_well_};
  for (const Snapshot& kept : kept_.snapshots().own())
    if (kept.counts) held.parts.push_back(part_of(kept));
  for (const Snapshot& copy : kept_.snapshots().copies()) held.copies.push_back(part_of(copy));
  for (auto* const parts : {&held.parts, &held.copies})
    if (parts->size() > kPartsHeldMax)
      parts->erase(parts->begin(), parts->end() - static_cast<std::ptrdiff_t>(kPartsHeldMax));
  peers_.describe(held);
  return held;
}

std::optional<KeptCheckpoints> SharedKeeper::status() const {
  return kept_.in_memory() ? std::optional{kept_.status()} : std::nullopt;
}

// --- while workers run ---

asio::awaitable<void> SharedKeeper::keep_saves() {
  while (!ended_) {
    auto due = workers_run_ && kept_.in_memory() ? saves_.next_look() : std::nullopt;
    // What has changed right before the order came is complete if nothing follows.
    if (order_) due = keep_at_.value_or(Clock::now());
    if (busy_ || !due || Clock::now() < *due) {
      alarm_.expires_at(busy_ ? TimePoint::max() : due.value_or(TimePoint::max()));
      co_await alarm_.async_wait(kSilently);
      continue;
    }
    busy_ = true;
    const bool looks = saves_.look_due(Clock::now()) == SaveWatch::Wants::kLook;
    if (order_)
      co_await keep_as_ordered();
    else if (looks)
      co_await look_for_save();
    busy_ = false;
    idle_.cancel();
  }
}

asio::awaitable<SharedKeeper::Look> SharedKeeper::look() {
  Look look;
  std::optional<FolderLooked> seen;
  if (kept_.in_memory()) seen = co_await kept_.look();
  if (!seen) seen.emplace().open.push_back(spec_.folder);  // it is changing: the next look tells
  look.seen = std::move(*seen);
  const TimePoint now = Clock::now();
  look.wants = saves_.step(look.seen, kept_.current(), now);
  warn_of_open_file(saves_, spec_, now);
  co_return look;
}

/// The save is kept when all nodes do so.
asio::awaitable<void> SharedKeeper::look_for_save() {
  const auto [seen, wants] = co_await look();
  if (!workers_run_) co_return;
  if (wants == SaveWatch::Wants::kKeep) {
    saves_.step(SnapshotKept{true}, kept_.current(), Clock::now());
    owes_word_ = true;
  }
  if (owes_word_ && saves_.is_still(seen)) say_saved();
}

void SharedKeeper::say_saved() {
  owes_word_ = false;
  has_spoken_ = true;
  speak_({.what = Said::kSaved});
}

void SharedKeeper::joined() {
  if (has_spoken_ && workers_run_) say_saved();
}

}  // namespace ddprun
