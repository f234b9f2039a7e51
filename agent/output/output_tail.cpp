#include "agent/output/output_tail.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace ddprun {

namespace {

std::string printable(std::string line) {
  while (!line.empty() && line.back() == '\r') line.pop_back();
  line.erase(0, line.rfind('\r') + 1);  // npos + 1 == 0: nothing to erase
  std::ranges::replace_if(
      line, [](unsigned char c) { return std::iscntrl(c) && c != '\t'; }, '?');
  return line;
}

}  // namespace

void OutputTail::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, newline);
    if (piece.find('\r') != std::string_view::npos && current_.size() >= kLineBytesMax)
      current_.clear();  // a progress bar redrawn for hours: only the last drawing counts
    current_ += piece.substr(0, kLineBytesMax - std::min(current_.size(), kLineBytesMax));
    if (newline == std::string_view::npos) return;
    finished_.push_back(std::exchange(current_, {}));
    if (finished_.size() > kLinesMax) finished_.pop_front();
    bytes.remove_prefix(newline + 1);
  }
}

std::vector<std::string> OutputTail::lines() const {
  std::vector<std::string> out;
  for (const std::string& line : finished_) out.push_back(printable(line));
  if (!current_.empty()) out.push_back(printable(current_));
  if (out.size() > kLinesMax) out.erase(out.begin());
  return out;
}

namespace {

constexpr std::array<std::string_view, 10> kSigns{"Traceback (most recent",
                                                  "Fatal Python error",
                                                  "terminate called",
                                                  ": Assertion `",
                                                  ": Assertion '",
                                                  "==ERROR: ",
                                                  "' panicked at",
                                                  "panic: ",
                                                  "Timeout (",
                                                  "Error: "};
constexpr std::size_t kSignBytesMax = 24;
/// What stands before the type of an exception.
constexpr std::array<std::string_view, 2> kOpenings{"Traceback (most recent", "terminate called"};

}  // namespace

void CrashTail::append(std::string_view bytes, TimePoint now) {
  for (; bytes.size() > kBytesMax; bytes.remove_prefix(kBytesMax))
    append_piece(bytes.substr(0, kBytesMax), now);
  append_piece(bytes, now);
}

void CrashTail::append_piece(std::string_view bytes, TimePoint now) {
  const std::size_t before = text_.size();
  text_ += bytes;
  const std::size_t from = before - std::min(before, kSignBytesMax);
  note_marks(from, now);
  note_opening(from, now);
  if (text_.size() >= 2 * kBytesMax) drop(text_.size() - kBytesMax);
}

void CrashTail::note_opening(std::size_t from, TimePoint now) {
  const std::string_view fresh = std::string_view{text_}.substr(from);
  for (const std::string_view opening : kOpenings) {
    const std::size_t found = fresh.rfind(opening);
    if (found == std::string_view::npos) continue;
    const std::size_t at = dropped_ + from + found;
    if (!last_ || at > last_->at) last_ = Head{at, now, ""};
  }
}

void CrashTail::drop(std::size_t count) {
  if (last_ && last_->at < dropped_ + count && last_->text.size() < kHeadBytesMax) {
    const std::size_t from = std::max(last_->at, dropped_) - dropped_;
    last_->text += text_.substr(from, std::min(count - from, kHeadBytesMax - last_->text.size()));
  }
  dropped_ += count;
  text_.erase(0, count);
}

/// A sign may be divided between two pieces, so the end of the last one is looked at again.
void CrashTail::note_marks(std::size_t from, TimePoint now) {
  std::array<std::size_t, 2 * kMarksMax> found{};
  std::size_t count = 0;
  const std::string_view text = text_;
  for (const std::string_view sign : kSigns)
    for (std::size_t at = text.find(sign, from);
         at != std::string_view::npos && count < found.size(); at = text.find(sign, at + 1))
      found[count++] = dropped_ + at;
  std::sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    if (!marks_.empty() && found[i] <= marks_.back().at) continue;
    marks_.push_back({found[i], now});
    if (marks_.size() > kMarksMax) marks_.pop_front();
  }
}

StreamEnd CrashTail::end() const {
  const std::string head = last_ ? last_->text : "";
  StreamEnd end{head + text_, {}};
  if (!head.empty()) end.marks.push_back({0, last_->came});
  for (const Mark& mark : marks_)
    if (mark.at >= dropped_) end.marks.push_back({head.size() + mark.at - dropped_, mark.came});
  return end;
}

}  // namespace ddprun
