// FoldedOutput: ddprun's own streams for the workers of a node whose equal lines are shown once. It
// gives LineMerger the lines and the time, and writes what that returns.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/output/console.hpp"
#include "agent/output/line_merger.hpp"
#include "base/asio.hpp"

namespace ddprun {

class FoldedOutput : public std::enable_shared_from_this<FoldedOutput> {
 public:
  /// Makes what stands before a line that these said.
  using Label = std::function<std::string(const FoldedLine& line)>;

  /// The consoles must outlive it.
  FoldedOutput(const asio::any_io_executor& executor, Console& out, Console& err, Label label);

  /// A worker will speak on one of the streams. `has_file`: all that it says there is in a file,
  /// too.
  void expect(const Speaker& speaker, bool err, bool has_file);

  /// Shows, now or soon, what a worker has written: whole lines, redrawings of a progress bar, or
  /// an unfinished line at the end. `stamp` is shown before its lines.
  void say(int rank, bool err, std::string_view text, const std::string& stamp);

  /// Resolves when the rank is not so far ahead of others any more that it should not be heard.
  asio::awaitable<void> writable(int rank);

  /// The worker of this rank has ended. `now`: all that it has said is shown at once.
  void ended(int rank, bool now);

  /// Shows all that waits. Must not be used afterwards.
  void close();

 private:
  asio::awaitable<void> keep_showing();
  void show(const LineMerger::Lines& lines);
  void show(const FoldedLine& line);
  void set_timer();

  /// The unfinished line at the end of a stream.
  struct Stream {
    Console& console;
    std::vector<int> open_line_of = {};  // empty: there is none
  };

  Stream out_, err_;
  Label label_;
  LineMerger merger_;
  asio::steady_timer timer_;
  asio::steady_timer progress_;  // its waiters are woken when lines were shown
  bool all_have_files_ = true;
  bool running_ = false;
  bool closed_ = false;
};

}  // namespace ddprun
