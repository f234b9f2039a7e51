#include "agent/checkpoints/disk_writer.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/system/late_answer.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

constexpr auto kWithoutThrow = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kDiskTasksMax = 16;
constexpr std::chrono::seconds kTryAgainAfter{30};

}  // namespace

DiskWriter::DiskWriter(const asio::any_io_executor& executor, CheckpointSpec spec,
                       std::function<void()> written)
    : spec_{std::move(spec)},
      written_{std::move(written)},
      work_{std::make_shared<Work>(spec_)},
      queue_{kDiskTasksMax, LeftBehindQueue::Files::kOwn},
      news_{executor},
      ended_{executor} {}

/// What is asked of the disk while somebody waits for the answer.
template <typename T>
asio::awaitable<std::optional<T>> DiskWriter::ask(std::function<T()> question) {
  return late_answer(queue_, Clock::now() + kDiskPatience, std::move(question));
}

asio::awaitable<Result<void>> DiskWriter::open() {
  std::function<Result<Snapshot>()> look = [work = work_]() -> Result<Snapshot> {
    if (const auto usable = check_checkpoint_folder(work->spec); !usable) return usable.error();
    return work->spec.shared ? work->disk.read(0) : work->disk.open();
  };
  auto found = co_await ask(std::move(look));
  if (!found)
    co_return Error{Error::Kind::kTimeout,
                    "'" + spec_.disk + "' gives no answer: " + std::string{kIsItThere}};
  if (!*found) co_return found->error();
  there_ = std::move(**found);
  co_return Result<void>{};
}

void DiskWriter::write(const Snapshot& snapshot, fs::path files, fs::path folder) {
  next_ = std::make_shared<const Order>(Order{snapshot, std::move(files), std::move(folder)});
  news_.cancel();
  if (!std::exchange(runs_, true))
    start_coroutine(news_.get_executor(), write_all(), report_failure("writing checkpoints"));
}

std::optional<int> DiskWriter::needed() const {
  if (writing_) return writing_->snapshot.number;
  if (next_) return next_->snapshot.number;
  return std::nullopt;
}

asio::awaitable<void> DiskWriter::write_all() {
  while (next_ && !given_up_) {
    writing_ = std::exchange(next_, nullptr);
    co_await write_one(writing_);
    if (failing_ && !next_ && !given_up_) {
      next_ = writing_;
      news_.expires_after(kTryAgainAfter);
      co_await news_.async_wait(kWithoutThrow);
    }
    writing_ = nullptr;
  }
  runs_ = false;
  ended_.cancel();
}

asio::awaitable<void> DiskWriter::write_one(std::shared_ptr<const Order> order) {
  std::function<Result<Snapshot>()> write = [work = work_, order] {
    auto there = work->disk.write(order->snapshot, order->files, order->folder, work->pace);
    if (there) work->disk.write_logs(order->folder, work->pace);
    return there;
  };
  auto there = co_await late_answer(queue_, TimePoint::max(), std::move(write));
  ++attempts_;
  if (there && *there) {
    if (std::exchange(failing_, false)) log::info("'{}' can be written to again", spec_.disk);
    there_ = std::move(**there);
    written_();
  } else if (!given_up_ && !std::exchange(failing_, true)) {
    log::warn("{} is in memory alone: {}", title_of(order->snapshot),
              there ? there->error().message : "no thread can be started");
  }
  ended_.cancel();
}

asio::awaitable<bool> DiskWriter::flush() {
  const int before = attempts_;
  if (failing_) news_.cancel();  // it is tried once more, and at once
  while (runs_ && !given_up_) {
    if (failing_ && attempts_ > before) co_return false;
    const bool goes_on = co_await wait_for_more(ended_);
    if (goes_on) continue;
    log::warn("'{}' gives no answer: {}", spec_.disk, kIsItThere);
    co_return false;
  }
  co_return !failing_ && !given_up_;
}

/// Something that may take long is waited for as long as it goes on. Returns false where nothing
/// has ended, and the disk has done nothing for kDiskPatience.
asio::awaitable<bool> DiskWriter::wait_for_more(asio::steady_timer& ended) {
  const std::size_t spent = work_->pace.spent();
  ended.expires_after(kDiskPatience);
  const auto [something_ended] = co_await ended.async_wait(kWithoutThrow);
  co_return something_ended || work_->pace.spent() != spent;
}

// --- one step after the other ---

/// Each that waits has a timer of its own: to set one wakes all that wait for it.
asio::awaitable<Result<void>> DiskWriter::change(std::function<Result<Snapshot>(Work&)> how) {
  using Answer = std::optional<Result<Snapshot>>;
  const auto answer = std::make_shared<Answer>();
  std::function<Result<Snapshot>()> task = [work = work_, how = std::move(how)] {
    return how(*work);
  };
  const auto ended = std::make_shared<asio::steady_timer>(news_.get_executor());
  const auto note = [ended, answer](std::optional<Result<Snapshot>> there) {
    *answer = there
                  ? std::move(*there)
                  : Result<Snapshot>{Error{Error::Kind::kUnavailable, "no thread can be started"}};
    ended->cancel();
  };
  start_coroutine(news_.get_executor(),
                  then(late_answer(queue_, TimePoint::max(), std::move(task)), note),
                  report_failure("writing checkpoints"));
  while (!*answer) {
    const bool goes_on = co_await wait_for_more(*ended);
    if (goes_on || *answer) continue;
    co_return Error{Error::Kind::kTimeout,
                    "'" + spec_.disk + "' gives no answer: " + std::string{kIsItThere}};
  }
  if (!**answer) co_return (*answer)->error();
  there_ = std::move(***answer);
  co_return Result<void>{};
}

asio::awaitable<Result<void>> DiskWriter::stage(const Snapshot& part, fs::path files,
                                                fs::path folder) {
  const auto order =
      std::make_shared<const Order>(Order{part, std::move(files), std::move(folder)});
  std::function<Result<Snapshot>(Work&)> write = [order](Work& work) -> Result<Snapshot> {
    const auto done = work.disk.stage(order->snapshot, order->files, order->folder, work.pace);
    if (!done) return done.error();
    work.disk.write_logs(order->folder, work.pace);
    return work.disk.there();
  };
  auto staged = co_await change(std::move(write));
  co_return staged;
}

asio::awaitable<Result<void>> DiskWriter::move(int number, int parts) {
  std::function<Result<Snapshot>(Work&)> move = [number, parts](Work& work) {
    return number == 0 ? work.disk.see() : work.disk.move(number, parts);
  };
  auto moved = co_await change(std::move(move));
  co_return moved;
}

asio::awaitable<Result<void>> DiskWriter::read(int number) {
  std::function<Result<Snapshot>(Work&)> look = [number](Work& work) {
    return work.disk.read(number);
  };
  auto read = co_await change(std::move(look));
  co_return read;
}

asio::awaitable<void> DiskWriter::write_logs(fs::path folder) {
  std::function<bool()> write = [work = work_, folder] {
    work->disk.write_logs(folder, work->pace);
    return true;
  };
  co_await ask(std::move(write));
}

asio::awaitable<void> DiskWriter::point_folder(fs::path target) {
  std::function<Result<void>()> point = [work = work_, target] {
    return point_folder_to(work->spec, target);
  };
  const auto pointed = co_await ask(std::move(point));
  if (!pointed || !*pointed)
    log::error("'{}' cannot be made a link: {}", spec_.folder,
               pointed ? pointed->error().message : std::string{kIsItThere});
}

asio::awaitable<std::string> DiskWriter::became_of_link(fs::path target) {
  std::function<std::string()> look = [work = work_, target] {
    return what_became_of(work->spec, target);
  };
  const auto what = co_await ask(std::move(look));
  co_return what.value_or("");  // its folder does not answer now
}

asio::awaitable<void> DiskWriter::forget_list() {
  std::function<bool()> forget = [work = work_] {
    work->disk.forget_list();
    return true;
  };
  co_await ask(std::move(forget));
}

void DiskWriter::give_up() {
  given_up_ = true;
  work_->pace.cancel();
  news_.cancel();
  ended_.cancel();
}

}  // namespace ddprun
