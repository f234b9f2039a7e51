#include "agent/output/console.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "agent/output/line_text.hpp"
#include "base/coroutines.hpp"
#include "base/system/left_behind.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;  // lines are put together up to this

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

/// The thread holds it, too.
struct FileOutput::File {
  const int fd;
  const std::shared_ptr<std::function<void()>> has_room;  // called in `home` alone

  // The rest is the disk's mutex's.
  std::optional<asio::any_io_executor> home;  // nullopt: the output is gone
  std::size_t pending = 0;
  bool failed = false;  // as the disk is full: workers must not stop because of it
};

/// What waits for one disk, in its order.
class FileOutput::Disk : public std::enable_shared_from_this<Disk> {
 public:
  static std::shared_ptr<Disk> of(int fd) {
    static std::map<dev_t, std::weak_ptr<Disk>> disks;
    struct stat what {};
    ::fstat(fd, &what);
    std::weak_ptr<Disk>& known = disks[what.st_dev];
    auto disk = known.lock();
    if (!disk) known = disk = std::make_shared<Disk>();
    return disk;
  }

  void write(const std::shared_ptr<File>& file, std::string_view bytes) {
    std::unique_lock lock{mutex_};
    if (file->failed || bytes.empty()) return;
    file->pending += bytes.size();
    if (pieces_.empty() || pieces_.back().file != file ||
        pieces_.back().bytes.size() >= kPieceBytes)
      pieces_.push_back({file, {}});
    pieces_.back().bytes += bytes;
    if (std::exchange(has_turn_, true)) return;
    lock.unlock();
    const auto added = queue_.add([held = shared_from_this()] { held->write_out(); });
    if (!added) write_out();  // the system allows no thread
  }

  bool is_full(const File& file) {
    const std::lock_guard lock{mutex_};
    return file.pending >= kPendingMax;
  }

  bool done_within(const File& file, std::chrono::milliseconds at_most) {
    std::unique_lock lock{mutex_};
    for (std::size_t before = file.pending; before > 0; before = file.pending)
      if (!news_.wait_for(lock, at_most, [&] { return file.pending < before; })) return false;
    return true;
  }

  void leave(File& file) {
    const std::lock_guard lock{mutex_};
    file.home.reset();
  }

 private:
  struct Piece {
    std::shared_ptr<File> file;
    std::string bytes;
  };

  void write_out() {
    std::unique_lock lock{mutex_};
    while (!pieces_.empty()) {
      const Piece piece = std::move(pieces_.front());
      pieces_.pop_front();
      File& file = *piece.file;
      const bool wanted = !file.failed;
      lock.unlock();
      const bool is_written = wanted && write_all(file.fd, piece.bytes);
      lock.lock();
      file.failed = !is_written;
      const bool was_full = file.pending >= kPendingMax;
      file.pending -= piece.bytes.size();
      if (was_full && file.pending < kPendingMax && file.home)
        asio::post(*file.home, [has_room = file.has_room] { (*has_room)(); });
      news_.notify_all();
    }
    has_turn_ = false;
  }

  LeftBehindQueue queue_{/*tasks_max=*/1};
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<Piece> pieces_;
  bool has_turn_ = false;  // the thread writes, or is about to
};

FileOutput::FileOutput(const asio::any_io_executor& home, int fd, std::function<void()> has_room)
    : disk_{Disk::of(fd)},
      file_{std::make_shared<File>(
          File{fd, std::make_shared<std::function<void()>>(std::move(has_room)), home})} {}

FileOutput::~FileOutput() {
  disk_->leave(*file_);
  *file_->has_room = [] {};  // one call may be on its way
}

void FileOutput::write(std::string_view bytes) { disk_->write(file_, bytes); }

bool FileOutput::is_full() const { return disk_->is_full(*file_); }

bool FileOutput::done_within(std::chrono::milliseconds at_most) {
  return disk_->done_within(*file_, at_most);
}

namespace {

/// A descriptor of our own for the same terminal or pipe: O_NONBLOCK belongs to the open file,
/// which the shell and the workers share, and must not be set there.
int reopen_nonblocking(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return -1;
  if (S_ISSOCK(status.st_mode)) return dup(fd);  // written with MSG_DONTWAIT
  if (!S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode)) return -1;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

bool is_file(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

ssize_t write_now(int fd, std::string_view bytes) {
  const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  return write(fd, bytes.data(), bytes.size());
}

}  // namespace

Console::Console(const asio::any_io_executor& executor, int fd)
    : fd_{fd},
      is_terminal_{isatty(fd) == 1},
      descriptor_{executor},
      progress_{executor, asio::steady_timer::time_point::max()} {
  if (is_file(fd))
    file_ = std::make_unique<FileOutput>(executor, fd, [this] { progress_.cancel(); });
  const int own = reopen_nonblocking(fd);
  if (own < 0) return;
  boost::system::error_code not_pollable;  // /dev/null, for one
  descriptor_.assign(own, not_pollable);
  if (not_pollable) {
    ::close(own);
    return;
  }
  fd_ = own;
  pollable_ = true;
}

Console::Console(Console& wire, Framing framing)
    : wire_{&wire},
      framing_{std::move(framing)},
      fd_{-1},
      descriptor_{wire.descriptor_.get_executor()},
      progress_{wire.descriptor_.get_executor()} {}

void Console::write(std::string_view bytes) {
  if (bytes.empty()) return;
  last_byte_ = bytes.back();
  open_line_of_ = nullptr;
  if (wire_)
    wire_->enqueue(framing_(bytes, false));
  else
    enqueue(bytes);
}

void Console::enqueue(std::string_view bytes) {
  if (reader_gone_) return;
  if (file_) return file_->write(bytes);
  queue_ += bytes;
  if (writing_) return;
  if (write_some()) return;
  writing_ = true;
  start_coroutine(descriptor_.get_executor(), write_queue(), report_failure("writing output"));
}

void Console::write_message(std::string_view line) {
  if (last_byte_ != '\n') write("\n");
  if (wire_)
    wire_->enqueue(framing_(line, true));
  else
    write(line);
}

void Console::write_lines(const void* source, std::string_view prefix, std::string_view text) {
  if (text.empty()) return;
  if (open_line_of_ != source && last_byte_ != '\n') write("\n");
  const bool line_start = open_line_of_ != source || last_byte_ == '\r';
  write(with_prefix(text, prefix, line_start));
  open_line_of_ = text.back() == '\n' ? nullptr : source;
}

void Console::end_line(const void* source) {
  if (open_line_of_ == source && source != nullptr) write("\n");
}

bool Console::takes_more() const {
  return !is_terminal_ || queue_.size() < kQueueBytesMax || !writing_;
}

void Console::leave_out(std::size_t lines) { left_out_ += lines; }

void Console::tell_left_out() {
  const std::size_t lines = std::exchange(left_out_, 0);
  if (lines == 0) return;
  write_message(
      fmt::format("ddprun: {} lines are not shown here, because the terminal was slow; the "
                  "log files have them\n",
                  lines));
}

/// Writes what the reader takes; true when nothing is left to write.
bool Console::write_some() {
  std::size_t written = 0;
  while (written < queue_.size()) {
    const ssize_t n = write_now(fd_, std::string_view{queue_}.substr(written));
    if (n >= 0) {
      written += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN && pollable_) {
      break;
    } else if (errno != EINTR) {
      // The reader has closed the pipe, or the disk is full: workers must not stop because of it.
      reader_gone_ = true;
      written = queue_.size();
    }
  }
  queue_.erase(0, written);
  return queue_.empty();
}

asio::awaitable<void> Console::write_queue() {
  while (!queue_.empty()) {
    const auto [error] = co_await descriptor_.async_wait(asio::posix::stream_descriptor::wait_write,
                                                         asio::as_tuple(asio::use_awaitable));
    if (error) break;
    write_some();
    if (queue_.size() < kQueueBytesMax / 2) tell_left_out();
    progress_.cancel();
  }
  writing_ = false;
}

asio::awaitable<void> Console::writable() {
  if (wire_) co_return co_await wire_->writable();
  while (is_full()) co_await progress_.async_wait(asio::as_tuple(asio::use_awaitable));
}

bool Console::is_full() const {
  if (file_) return !reader_gone_ && file_->is_full();
  return queue_.size() >= kQueueBytesMax && writing_;
}

/// A signal that comes meanwhile is let through, so that it ends the wait.
void Console::flush_file(std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kLook{100};
  sigset_t none;
  sigemptyset(&none);
  const timespec at_once{};
  for (auto waited = kLook; !reader_gone_ && !file_->done_within(kLook); waited += kLook)
    reader_gone_ = waited >= patience || ppoll(nullptr, 0, &at_once, &none) < 0;
}

void Console::flush_blocking(std::chrono::milliseconds disk_patience) {
  if (wire_) return wire_->flush_blocking(disk_patience);
  if (file_) return flush_file(disk_patience);
  tell_left_out();
  sigset_t none;
  sigemptyset(&none);
  while (!queue_.empty() && !write_some()) {
    pollfd wait{fd_, POLLOUT, 0};
    if (ppoll(&wait, 1, nullptr, &none) < 0 && errno == EINTR) return;
  }
}

}  // namespace ddprun
