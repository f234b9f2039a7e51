// Console: ddprun's own standard output or error, written to without ever blocking the event loop.
//
// What is written leaves in order. A reader that is slow (a paused pager, a frozen terminal) makes
// writable() wait, which slows down its callers alone; nothing is thrown away as long as the reader
// is there.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/asio.hpp"

namespace ddprun {

/// FileOutput: standard output or error where it is a file, as that of a batch job. Its disk or
/// server may hang, and a write(2) to it waits then, without an end: so a thread does it, which can
/// be left behind.
class FileOutput {
 public:
  /// The descriptor `fd` is that of a file, and must stay open. `has_room` is called in `home` when
  /// it is not full any more; both must outlive this.
  FileOutput(const asio::any_io_executor& home, int fd, std::function<void()> has_room);
  FileOutput(const FileOutput&) = delete;
  FileOutput& operator=(const FileOutput&) = delete;
  ~FileOutput();

  /// Has the bytes written behind all that was written before, also to another file of that disk:
  /// standard output and error may be the same one. If the disk is full, they are dropped.
  void write(std::string_view bytes);

  /// Whether so much waits that who has more to write should wait, too.
  bool is_full() const;

  /// Waits until all is written, unless nothing is for that long. Returns whether it is.
  bool done_within(std::chrono::milliseconds at_most);

 private:
  static constexpr std::size_t kPendingMax = 1024 * 1024;  // in bytes

  class Disk;
  struct File;

  std::shared_ptr<Disk> disk_;
  std::shared_ptr<File> file_;
};

class Console {
 public:
  static constexpr std::size_t kQueueBytesMax = 1024 * 1024;
  /// A file whose disk takes nothing for this long is given up at the end of the program.
  static constexpr std::chrono::seconds kDiskPatience{20};

  /// Turns what is written into what leaves over another console. `message` tells ddprun's own
  /// words from workers' output.
  using Framing = std::function<std::string(std::string_view bytes, bool message)>;

  /// Writes to the descriptor `fd`, which must stay open as long as the console lives.
  Console(const asio::any_io_executor& executor, int fd);

  /// Writes over `wire`, which must outlive it and which others may share.
  Console(Console& wire, Framing framing);

  /// The event loop that it belongs to: only there it may be used.
  asio::any_io_executor executor() { return progress_.get_executor(); }

  /// Writes bytes as they are.
  void write(std::string_view bytes);

  /// Writes a line of ddprun's own, which has its end. Where something unfinished stands, the line
  /// begins on a new one.
  void write_message(std::string_view line);

  /// Writes lines of `source`, each behind `prefix`. An unfinished line of another source is ended
  /// first, so that no line has the words of two.
  void write_lines(const void* source, std::string_view prefix, std::string_view text);

  /// Ends the unfinished line of `source`, if that is the last that was written.
  void end_line(const void* source);

  /// Whether a person reads it, as far as one can know.
  bool is_terminal() const { return is_terminal_; }

  /// Whether a line that is in a file as well should be shown now. Not where a person's terminal
  /// has fallen behind by kQueueBytesMax: no worker is made to wait for what can be read later.
  bool takes_more() const;

  /// This many lines were not shown because of that; a note says so as soon as there is room.
  void leave_out(std::size_t lines);

  /// Resolves when less than kQueueBytesMax is queued, so that more may be written.
  asio::awaitable<void> writable();

  /// Writes what is still queued, however long the reader takes: for the end of the program, when
  /// nothing is left to supervise. A signal that has a handler ends it, and so does the disk of a
  /// file that takes nothing for that long.
  void flush_blocking(std::chrono::milliseconds disk_patience = kDiskPatience);

 private:
  void enqueue(std::string_view bytes);
  asio::awaitable<void> write_queue();
  bool write_some();
  void flush_file(std::chrono::milliseconds patience);
  bool is_full() const;
  void tell_left_out();

  Console* wire_ = nullptr;  // nullptr: to the descriptor
  Framing framing_;
  int fd_;
  bool is_terminal_ = false;
  bool pollable_ = false;             // a pipe, terminal or socket
  std::unique_ptr<FileOutput> file_;  // null: it is no file
  asio::posix::stream_descriptor descriptor_;
  std::string queue_;
  char last_byte_ = '\n';
  const void* open_line_of_ =
      nullptr;  // the writer of the unfinished line at the end, by write_lines()
  bool writing_ = false;
  bool reader_gone_ = false;
  std::size_t left_out_ = 0;     // lines, since the last note
  asio::steady_timer progress_;  // its waiters are woken by every write
};

/// ddprun's own streams, which workers' output goes to.
struct Consoles {
  Console& out;
  Console& err;
};

}  // namespace ddprun
