#include "agent/output/file_output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

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

}  // namespace ddprun
