#include "agent/output/folded_output.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "agent/output/line_text.hpp"
#include "base/clock.hpp"
#include "base/coroutines.hpp"

namespace ddprun {

FoldedOutput::FoldedOutput(const asio::any_io_executor& executor, Console& out, Console& err,
                           Label label)
    : out_{out},
      err_{err},
      label_{std::move(label)},
      timer_{executor, TimePoint::max()},
      progress_{executor, TimePoint::max()} {}

asio::awaitable<void> FoldedOutput::writable(int rank) {
  while (!closed_ && merger_.is_far_ahead(rank))
    co_await progress_.async_wait(asio::as_tuple(asio::use_awaitable));
}

void FoldedOutput::expect(const Speaker& speaker, bool err, bool has_file) {
  all_have_files_ = all_have_files_ && has_file;
  merger_.expect(speaker, err);
}

void FoldedOutput::say(int rank, bool err, std::string_view text, const std::string& stamp) {
  while (!text.empty()) {
    const LinePiece piece = first_line(text);
    show(merger_.say(rank, {err, std::string{piece.text}, std::string{piece.end}, stamp},
                     Clock::now()));
    text.remove_prefix(piece.text.size() + piece.end.size());
  }
  set_timer();
}

void FoldedOutput::ended(int rank, bool now) {
  const TimePoint time = Clock::now();
  if (now) show(merger_.flush(rank, time));
  show(merger_.ended(rank, time));
  set_timer();
}

void FoldedOutput::close() {
  show(merger_.flush_all(Clock::now()));
  closed_ = true;
  progress_.cancel();
  timer_.cancel();
  out_.console.end_line(this);
  err_.console.end_line(this);
}

void FoldedOutput::set_timer() {
  const TimePoint due = merger_.next_tick().value_or(TimePoint::max());
  if (due != timer_.expiry()) timer_.expires_at(due);
  if (std::exchange(running_, true)) return;
  start_coroutine(timer_.get_executor(), keep_showing(), report_failure("showing workers' lines"));
}

asio::awaitable<void> FoldedOutput::keep_showing() {
  const auto self = shared_from_this();
  while (!closed_) {
    const auto [moved] = co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
    if (moved || closed_) continue;
    show(merger_.tick(Clock::now()));
    timer_.expires_at(merger_.next_tick().value_or(TimePoint::max()));
  }
}

void FoldedOutput::show(const LineMerger::Lines& lines) {
  for (const FoldedLine& line : lines) show(line);
  if (!lines.empty()) progress_.cancel();
}

/// What goes on with an unfinished line, as a progress bar does, is of the same ranks.
void FoldedOutput::show(const FoldedLine& line) {
  auto& [console, open_line_of] = line.line.err ? err_ : out_;
  if (all_have_files_ && !console.takes_more()) return console.leave_out(1);
  if (open_line_of != line.ranks) console.end_line(this);
  console.write_lines(this, line.line.stamp + label_(line), line.line.text + line.line.end);
  open_line_of = line.line.end.ends_with('\n') ? std::vector<int>{} : line.ranks;
}

}  // namespace ddprun
