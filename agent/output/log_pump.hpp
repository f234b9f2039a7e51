// LogPump: carries one stream of one worker to where its StreamPlan wants it, and keeps the last
// lines for the failure report.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <vector>

#include "agent/output/console.hpp"
#include "agent/output/folded_output.hpp"
#include "agent/output/line_text.hpp"
#include "agent/output/log_writer.hpp"
#include "agent/output/output_tail.hpp"
#include "agent/output/stream_plan.hpp"
#include "base/descriptor.hpp"

namespace ddprun {

/// Where a pump passes lines on if equal ones of several workers are shown once, and from whom.
struct FoldTarget {
  std::shared_ptr<FoldedOutput> output;  // null: lines are shown as they come
  int rank = 0;
  bool err = false;
};

class LogPump : public std::enable_shared_from_this<LogPump> {
 public:
  /// `console` must outlive the pump; the directories of the plan's files must be there. `writer`
  /// writes these; null: it has one of its own. Where they hang, it goes on without them. Errors:
  /// kUnavailable, when the system refuses a pipe, a terminal or a file.
  static Result<std::shared_ptr<LogPump>> open(const asio::any_io_executor& executor,
                                               Console& console, StreamPlan plan,
                                               FoldTarget fold_target = {},
                                               std::shared_ptr<LogWriter> writer = nullptr);
  ~LogPump();

  /// The end that the worker writes to. start() closes it, because the worker has its own copy
  /// then.
  int worker_end() const { return worker_end_.number(); }

  /// Begins to pump; call it when the worker has its end.
  void start();

  /// What comes from now on has that prefix and target: the worker has another rank.
  void retarget(std::string prefix, FoldTarget fold_target);

  /// Reads all that has been written so far, and passes it on including an unfinished line. Called
  /// when the worker has ended, so that every byte is out before anybody speaks of its end.
  void drain();

  /// Resolves when all that was read is in the files, or these hang.
  asio::awaitable<void> written();

  /// The plan's: whether ddprun's own stream shows it, and whether there is a file of it.
  bool is_shown() const { return plan_.shown; }
  bool has_file() const { return !plan_.file.empty(); }

  /// Drains and closes: no process has the worker's end any more, or none shall be heard.
  void close();

  /// Call it when ddprun's own terminal has changed its size: the worker's terminal follows.
  void resize();

  /// Lets somebody follow what comes from now on, for as long as he keeps what is returned. Of a
  /// worker that writes to its file itself nothing comes.
  std::shared_ptr<OutputFeed> follow();

  /// The last lines that the worker wrote, oldest first, as OutputTail keeps them.
  std::vector<std::string> last_lines() const;

  /// The last that it wrote, as it came, and when signs of a crash came.
  StreamEnd stream_end() const;

 private:
  LogPump(const asio::any_io_executor& executor, Console& console, StreamPlan plan,
          FoldTarget fold_target, std::shared_ptr<LogWriter> writer);

  Result<void> connect();
  Result<void> open_files();
  Result<void> open_for_worker();
  Result<std::shared_ptr<LogWriter::File>> open_file(const std::filesystem::path& path,
                                                     RotationRule rotation);
  void close_worker_end();
  asio::awaitable<void> pump();
  asio::awaitable<void> pass_on_when_idle();
  void pass_on(const std::string& text);
  void show(const std::string& text);
  bool waits_for_console() const;
  std::string end_of_file() const;
  enum class ReadResult { kData, kNothingNow, kEnd };
  ReadResult read_some();

  Console& console_;
  StreamPlan plan_;
  FoldTarget fold_target_;
  asio::posix::stream_descriptor source_;  // not open when the worker writes to the file itself
  Descriptor worker_end_;
  std::shared_ptr<LogWriter> writer_;  // null: there are no files
  std::shared_ptr<LogWriter::File> file_;
  std::shared_ptr<LogWriter::File> filtered_;
  LineBuffer lines_;
  OutputTail tail_;
  std::vector<std::weak_ptr<OutputFeed>> feeds_;
  CrashTail crash_tail_;
  LineStamper stamper_;
  std::string stamp_;  // the time of the last bytes; "": lines have none
  asio::steady_timer idle_;
};

}  // namespace ddprun
