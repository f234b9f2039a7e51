#include "agent/output/log_writer.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "agent/output/log_file.hpp"
#include "agent/output/log_writer_shared.hpp"
#include "agent/output/write_backlog.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/system/silence_note.hpp"

namespace ddprun {

namespace {

using asio::as_tuple;
using asio::use_awaitable;

/// A smaller amount waits this long for more: to wake the thread costs more than to write a line.
constexpr std::chrono::milliseconds kGatherTime{2};
/// Each file waits for its turn once, and once to be closed.
constexpr std::size_t kTasksMax = 100'000;

Error hangs(const std::filesystem::path& path) {
  return {Error::Kind::kTimeout, "no answer from '" + path.string() + "'"};
}

}  // namespace

std::shared_ptr<LogWriter> LogWriter::make(const asio::any_io_executor& executor) {
  std::shared_ptr<LogWriter> writer{new LogWriter{executor}};
  writer->shared_->writer = writer;
  return writer;
}

LogWriter::LogWriter(const asio::any_io_executor& executor)
    : shared_{std::make_shared<Shared>()},
      queue_{kTasksMax, LeftBehindQueue::Files::kOwn},
      for_others_{kTasksMax},
      gathered_{executor},
      alarm_{executor},
      news_{executor, TimePoint::max()} {
  shared_->home = executor;
}

LogWriter::~LogWriter() {
  const std::lock_guard lock{shared_->mutex};
  shared_->home.reset();
}

bool LogWriter::perform(LeftBehindQueue& queue, const std::filesystem::path& name,
                        std::function<void()> work) {
  const auto done = std::make_shared<bool>(false);
  std::unique_lock lock{shared_->mutex};
  if (shared_->backlog.hangs()) return false;
  shared_->backlog.begin(Clock::now());
  lock.unlock();
  add(queue, [shared = shared_, done, name = name.string(), work = std::move(work)] {
    shared->perform(name, work);
    shared->answer([&](WriteBacklog& waiting) {
      *done = true;
      waiting.end(Clock::now());
    });
  });
  lock.lock();
  const bool answered = shared_->wait(lock, [&] { return *done; });
  lock.unlock();
  tell();
  return answered;
}

/// Where the system allows no thread, it is done here, and so is all that follows: a thread that
/// begins later would not have the files that were opened here.
void LogWriter::add(LeftBehindQueue& queue, const std::function<void()>& task) {
  if (!without_thread_ && queue.add(task)) return;
  without_thread_ = without_thread_ || &queue == &queue_;
  task();
}

Result<std::shared_ptr<LogWriter::File>> LogWriter::open(const std::filesystem::path& path,
                                                         RotationRule rotation) {
  auto opened = answer<Opened>(path, opening(path, rotation));
  return opened ? std::move(*opened) : hangs(path);
}

Result<std::shared_ptr<LogWriter::File>> LogWriter::open_at_start(
    const std::filesystem::path& path) {
  const SilenceNote note{path.string()};
  const auto opened = std::make_shared<std::promise<Opened>>();
  add(queue_, [opened, open = opening(path, {})] { opened->set_value(open()); });
  return opened->get_future().get();
}

/// What opens it in the thread.
std::function<LogWriter::Opened()> LogWriter::opening(const std::filesystem::path& path,
                                                      RotationRule rotation) const {
  return [path, rotation, tell = teller()]() -> Opened {
    auto file = LogFile::open(path, rotation, tell);
    if (!file) return file.error();
    return std::make_shared<File>(path, std::move(*file));
  };
}

std::function<void(const std::string&)> LogWriter::teller() const {
  return [shared = shared_](const std::string& sentence) {
    const std::lock_guard lock{shared->mutex};
    shared->say(log::Level::kError, sentence);
  };
}

Result<Descriptor> LogWriter::open_for_others(const std::filesystem::path& path) {
  const auto opened = std::make_shared<Result<Descriptor>>(hangs(path));
  const auto open = [opened, path] {
    auto file = LogFile::open(path);
    *opened = file ? Result<Descriptor>{Descriptor{file->release()}} : file.error();
  };
  if (!perform(for_others_, path, open)) return hangs(path);
  return std::move(*opened);
}

void LogWriter::close_for_others(Descriptor file) {
  const auto held = std::make_shared<Descriptor>(std::move(file));
  add(for_others_, [held] { *held = Descriptor{}; });
}

void LogWriter::write(const std::shared_ptr<File>& file, std::string_view bytes) {
  if (bytes.empty()) return;
  bool is_much = false;
  {
    const std::lock_guard lock{shared_->mutex};
    if (!shared_->backlog.take(bytes.size(), Clock::now()))
      return shared_->leave_out(*file, bytes.size());
    shared_->append(*file, bytes);
    if (file->has_turn) return;
    if (file->pending.size() > 1) is_much = true;
  }
  is_much ? give_turn(file) : gather(file);
}

void LogWriter::gather(const std::shared_ptr<File>& file) {
  if (std::exchange(file->gathers, true)) return;
  gathering_.push_back(file);
  if (gathering_.size() > 1) return;
  gathered_.expires_after(kGatherTime);
  gathered_.async_wait([writer = weak_from_this()](const boost::system::error_code& moved) {
    if (moved) return;
    if (const auto there = writer.lock()) there->give_turns();
  });
}

void LogWriter::give_turns() {
  for (const auto& file : std::exchange(gathering_, {})) {
    file->gathers = false;
    give_turn(file);
  }
}

void LogWriter::give_turn(const std::shared_ptr<File>& file) {
  {
    const std::lock_guard lock{shared_->mutex};
    if (file->pending.empty() || std::exchange(file->has_turn, true)) return;
  }
  add(queue_, [shared = shared_, file] { shared->write_out(*file); });
  watch();
}

/// To close a file may take as long as to write it.
void LogWriter::close(const std::shared_ptr<File>& file) {
  give_turns();
  {
    const std::lock_guard lock{shared_->mutex};
    shared_->backlog.begin(Clock::now());
  }
  add(queue_, [shared = shared_, file] {
    file->file.close();
    shared->answer([](WriteBacklog& waiting) { waiting.end(Clock::now()); });
  });
}

bool LogWriter::awaits_room() {
  const std::lock_guard lock{shared_->mutex};
  const bool waits = shared_->backlog.is_full();
  shared_->awaits_room = shared_->awaits_room || waits;
  return waits;
}

bool LogWriter::awaits_written(const File& file) {
  const std::lock_guard lock{shared_->mutex};
  const bool waits = file.written < file.added && !shared_->backlog.hangs();
  shared_->awaits_written = shared_->awaits_written || waits;
  return waits;
}

asio::awaitable<void> LogWriter::writable() {
  const auto self = shared_from_this();
  while (awaits_room()) co_await news_.async_wait(as_tuple(use_awaitable));
}

asio::awaitable<void> LogWriter::written(std::shared_ptr<File> file) {
  const auto self = shared_from_this();
  give_turn(file);
  ++waiting_;
  set_alarm();
  while (awaits_written(*file)) co_await news_.async_wait(as_tuple(use_awaitable));
  --waiting_;
}

std::chrono::milliseconds LogWriter::patience() const {
  return waiting_ > 0 ? WriteBacklog::kPatienceOfWaiting : WriteBacklog::kPatience;
}

void LogWriter::watch() {
  if (!watches_) set_alarm();
}

void LogWriter::set_alarm() {
  std::unique_lock lock{shared_->mutex};
  const auto due = shared_->backlog.hangs_at(patience());
  lock.unlock();
  watches_ = due.has_value();
  if (!due) return;
  alarm_.expires_at(*due);
  alarm_.async_wait([writer = weak_from_this()](const boost::system::error_code& moved) {
    if (moved) return;
    if (const auto there = writer.lock()) there->look();
  });
}

void LogWriter::look() {
  {
    const std::lock_guard lock{shared_->mutex};
    if (shared_->backlog.begins_to_hang(patience(), Clock::now()))
      shared_->say_that_it_hangs(patience());
  }
  set_alarm();
  hear();
}

void LogWriter::hear() {
  tell();
  news_.cancel();
}

void LogWriter::tell() {
  std::unique_lock lock{shared_->mutex};
  const auto told = std::exchange(shared_->told, {});
  lock.unlock();
  for (const Shared::Told& sentence : told) log::write(sentence.level, sentence.text);
}

void LogWriter::end() {
  give_turns();
  {
    std::unique_lock lock{shared_->mutex};
    if (!shared_->home) return;
    Shared& shared = *shared_;
    shared.wait(lock, [&] { return shared.backlog.is_empty(); });
    shared.home.reset();
    shared.missing += shared.backlog.bytes();
    if (shared.short_of.empty()) shared.short_of = shared.current;
    if (shared.missing > 0) shared.say(log::Level::kWarning, shared.shortage());
  }
  tell();
}

}  // namespace ddprun
