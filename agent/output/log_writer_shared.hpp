// What LogWriter shares with its thread. Only log_writer.cpp includes it.
#pragma once

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/output/log_file.hpp"
#include "agent/output/log_writer.hpp"
#include "agent/output/write_backlog.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/number_text.hpp"
#include "base/system/left_behind.hpp"

namespace ddprun {

struct LogWriter::File {
  File(std::filesystem::path name, LogFile opened)
      : path{std::move(name)}, file{std::move(opened)} {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  /// The thread closes it, or ends with it: the file's number means something else everywhere else.
  ~File() { file.release(); }
  const std::filesystem::path path;

  // Only the thread has these.
  LogFile file;
  std::vector<std::string> batch;

  // These are with the lock of what it shares.
  std::vector<std::string> pending;
  bool has_turn = false;  // a task will take what is pending
  bool gathers = false;   // more is waited for; only the event loop has this
  std::uint64_t added = 0, written = 0;
};

/// The thread may live longer than all else, so all that it uses is here.
struct LogWriter::Shared {
  /// So much is written at once: each piece shows that the folder answers.
  static constexpr std::size_t kPieceBytes = 256 * 1024;
  /// This many pieces are kept for what comes next, as to get fresh memory takes longer than to
  /// copy.
  static constexpr std::size_t kSparePieces = 8;

  struct Told {
    log::Level level;
    std::string text;
  };

  std::mutex mutex;
  std::condition_variable answered;
  WriteBacklog backlog;
  std::string current;  // the file that the thread is at
  std::vector<Told> told;
  std::string short_of;  // the first file that lacks something; "": none does
  std::uint64_t missing = 0;
  std::optional<asio::any_io_executor> home;  // nullopt: the thread is left behind
  std::weak_ptr<LogWriter> writer;
  bool awaits_room = false, awaits_written = false;  // somebody in the event loop does
  std::vector<std::string> spare;                    // empty pieces

  void say(log::Level level, std::string text) { told.push_back({level, std::move(text)}); }

  void leave_out(const File& file, std::size_t bytes) {
    if (missing == 0) short_of = file.path.string();
    missing += bytes;
  }

  std::string shortage() const {
    return fmt::format("{} of output {} missing in log files, such as '{}'",
                       counted(static_cast<std::int64_t>(missing), "byte"),
                       missing == 1 ? "is" : "are", short_of);
  }

  void say_that_it_hangs(std::chrono::milliseconds patience) {
    say(log::Level::kWarning,
        fmt::format("no answer for {} from '{}': {} The job goes on, "
                    "and log files lack what is more than {}",
                    seconds_text(patience), current, kIsItThere,
                    bytes_text(static_cast<std::int64_t>(WriteBacklog::kBytesTaken))));
  }

  void say_that_it_answers() {
    say(log::Level::kWarning,
        fmt::format("'{}' answers again; {}", current,
                    missing == 0 ? "nothing is missing in log files" : shortage()));
    missing = 0;
  }

  /// Notes by `how` that the folder has answered, and lets those in the event loop know that wait
  /// for what has become of it.
  void answer(const std::function<void(WriteBacklog&)>& how) {
    const std::lock_guard lock{mutex};
    if (backlog.hangs()) say_that_it_answers();
    how(backlog);
    answered.notify_all();
    const bool room = awaits_room && !backlog.is_full();
    if (!home || !(room || awaits_written || !told.empty())) return;
    awaits_room = awaits_written = false;
    asio::post(*home, [writer = writer] {
      if (const auto there = writer.lock()) there->hear();
    });
  }

  /// Waits until `done`. Returns false if nothing comes of it for too long.
  bool wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done) {
    constexpr auto kPatience = WriteBacklog::kPatienceOfWaiting;
    while (!done()) {
      const auto deadline = backlog.hangs_at(kPatience);
      if (!deadline) return false;
      answered.wait_until(lock, *deadline);
      if (!done() && backlog.begins_to_hang(kPatience, Clock::now())) say_that_it_hangs(kPatience);
    }
    return true;
  }

  void append(File& file, std::string_view bytes) {
    auto& pieces = file.pending;
    if (pieces.empty() || pieces.back().size() + bytes.size() > kPieceBytes)
      pieces.push_back(fresh_piece());
    pieces.back() += bytes;
    file.added += bytes.size();
  }

  std::string fresh_piece() {
    if (spare.empty()) return "";
    std::string piece = std::move(spare.back());
    spare.pop_back();
    return piece;
  }

  void write_out(File& file) {
    take_turn(file);
    for (std::string& piece : file.batch) {
      file.file.write(piece);
      answer([&](WriteBacklog& waiting) {
        file.written += piece.size();
        waiting.written(piece.size(), Clock::now());
        piece.clear();
        if (spare.size() < kSparePieces) spare.push_back(std::move(piece));
      });
    }
    file.batch.clear();
  }

  void take_turn(File& file) {
    const std::lock_guard lock{mutex};
    std::swap(file.batch, file.pending);
    file.has_turn = false;
    current = file.path.string();
  }

  void perform(const std::string& name, const std::function<void()>& work) {
    {
      const std::lock_guard lock{mutex};
      current = name;
    }
    try {
      work();
    } catch (const std::exception& failure) {  // usually out of memory
      const std::lock_guard lock{mutex};
      say(log::Level::kWarning, fmt::format("'{}': {}", name, failure.what()));
    }
  }
};

}  // namespace ddprun
