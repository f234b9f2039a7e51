#include "agent/output/crash_tail.hpp"

#include <algorithm>
#include <array>

namespace ddprun {

namespace {

constexpr std::array<std::string_view, 9> kSigns{"Traceback (most recent",
                                                 "Fatal Python error",
                                                 "terminate called",
                                                 ": Assertion `",
                                                 ": Assertion '",
                                                 "==ERROR: ",
                                                 "' panicked at",
                                                 "panic: ",
                                                 "Error: "};
constexpr std::size_t kSignBytesMax = 24;

}  // namespace

void CrashTail::append(std::string_view bytes, TimePoint now) {
  if (bytes.size() > kBytesMax) {
    dropped_ += text_.size() + bytes.size() - kBytesMax;
    text_.clear();
    bytes.remove_prefix(bytes.size() - kBytesMax);
  }
  const std::size_t before = text_.size();
  text_ += bytes;
  note_marks(before - std::min(before, kSignBytesMax), now);
  if (text_.size() < 2 * kBytesMax) return;
  dropped_ += text_.size() - kBytesMax;
  text_.erase(0, text_.size() - kBytesMax);
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
  StreamEnd end{text_, {}};
  for (const Mark& mark : marks_)
    if (mark.at >= dropped_) end.marks.push_back({mark.at - dropped_, mark.came});
  return end;
}

}  // namespace ddprun
