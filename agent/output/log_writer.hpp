// LogWriter does what is to be done in a folder of logs, in a thread that can be left behind: the
// folder's disk or server may hang, and neither the event loop nor the end of the job waits for it.
//
// What WriteBacklog decides it tells the user: that the folder hangs, and what is missing there.
// Functions are called in the event loop. The thread begins with the first thing to be done. Files
// are open in it alone, as a worker that is started closes what it inherits, and to close a file
// of a folder that hangs would hold it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/output/log_rotation.hpp"
#include "base/asio.hpp"
#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "base/system/left_behind.hpp"

namespace ddprun {

class LogWriter : public std::enable_shared_from_this<LogWriter> {
 public:
  /// A file that is open, and what waits to be written to it.
  struct File;

  static std::shared_ptr<LogWriter> make(const asio::any_io_executor& executor);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// What `work` returns, which needs the file of that name and owns all that it uses; nullopt: it
  /// has no answer for two seconds. A folder that hangs already is not waited for at all.
  template <typename T>
  std::optional<T> answer(const std::filesystem::path& name, std::function<T()> work) {
    const auto found = std::make_shared<std::optional<T>>();
    const auto find = [found, work = std::move(work)] { *found = work(); };
    if (!perform(queue_, name, find)) return std::nullopt;
    return std::move(*found);
  }

  /// Opens a file as LogFile::open() does. Errors: kUnavailable, and kTimeout where the folder
  /// hangs.
  Result<std::shared_ptr<File>> open(const std::filesystem::path& path, RotationRule rotation);
  /// Opens it as open() does, and waits for ever.
  Result<std::shared_ptr<File>> open_at_start(const std::filesystem::path& path);
  /// Opens it as open() does for a worker that writes to it itself; close_for_others() closes it.
  Result<Descriptor> open_for_others(const std::filesystem::path& path);
  void close_for_others(Descriptor file);

  /// Has the bytes written behind those that wait. What finds no room is left out and counted.
  void write(const std::shared_ptr<File>& file, std::string_view bytes);

  /// Closes it behind what waits for it.
  void close(const std::shared_ptr<File>& file);

  /// Resolves when there is room for more, or the folder hangs.
  asio::awaitable<void> writable();
  /// Resolves when all is written that waits for that file, or the folder hangs.
  asio::awaitable<void> written(std::shared_ptr<File> file);

  /// Waits for all that is to be done, unless nothing comes of it for two seconds, and tells what
  /// is missing. To be called when the event loop does no more; nothing is written afterwards.
  void end();

 private:
  struct Shared;
  explicit LogWriter(const asio::any_io_executor& executor);

  using Opened = Result<std::shared_ptr<File>>;
  bool perform(LeftBehindQueue& queue, const std::filesystem::path& name,
               std::function<void()> work);
  std::function<void(const std::string&)> teller() const;
  void add(LeftBehindQueue& queue, const std::function<void()>& task);
  std::function<Opened()> opening(const std::filesystem::path& path, RotationRule rotation) const;
  void gather(const std::shared_ptr<File>& file);
  void give_turns();
  void give_turn(const std::shared_ptr<File>& file);
  void watch();
  void set_alarm();
  void look();
  std::chrono::milliseconds patience() const;
  bool awaits_written(const File& file);
  bool awaits_room();
  void tell();
  void hear();

  std::shared_ptr<Shared> shared_;  // with the thread
  LeftBehindQueue queue_;
  LeftBehindQueue for_others_;  // opens files that workers inherit
  bool without_thread_ = false;
  std::vector<std::shared_ptr<File>> gathering_;  // files of which little waits
  asio::steady_timer gathered_;                   // when these are written
  asio::steady_timer alarm_;                      // when the folder may be said to hang
  bool watches_ = false;
  int waiting_ = 0;          // in written()
  asio::steady_timer news_;  // its waiters are woken when something has been done
};

/// What `work` returns. Without a writer, it is called here.
template <typename T>
std::optional<T> answer_by(const std::shared_ptr<LogWriter>& writer,
                           const std::filesystem::path& name, std::function<T()> work) {
  return writer ? writer->answer(name, std::move(work)) : std::optional<T>{work()};
}

}  // namespace ddprun
