#include "ddprun/progress_bar.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace ddprun::sdk {

namespace {

constexpr int kWidthWhereUnknown = 80;
constexpr int kBarMin = 10;

std::string format(const char* pattern, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), pattern, value);
  return text.data();
}

/// Returns "1:02:03", or "2:03" below an hour.
std::string format_time(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  const auto two = [](std::int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  const std::string minutes_and_seconds = two(whole % 60);
  if (whole < 3600) return std::to_string(whole / 60) + ":" + minutes_and_seconds;
  return std::to_string(whole / 3600) + ":" + two(whole / 60 % 60) + ":" + minutes_and_seconds;
}

std::string format_rate(double per_second) {
  return format(per_second < 10 ? "%.2f/s" : "%.0f/s", per_second);
}

double fraction(const ProgressReading& reading) {
  if (reading.total <= 0) return 0;
  return std::clamp(static_cast<double>(reading.done) / static_cast<double>(reading.total), 0.0,
                    1.0);
}

std::string percent(const ProgressReading& reading) {
  return reading.total > 0 ? format("%3.0f%%", std::floor(100 * fraction(reading))) : "";
}

std::string counts_and_times(const ProgressReading& reading, bool with_elapsed = true) {
  const double seconds = reading.elapsed.count();
  const double steps = static_cast<double>(reading.done - reading.begun);
  std::string text = std::to_string(reading.done);
  if (reading.total > 0) text += "/" + std::to_string(reading.total);
  const char* separator = " ";
  if (with_elapsed) text += std::exchange(separator, ", ") + format_time(seconds) + " elapsed";
  if (steps > 0 && reading.done < reading.total) {
    const double left = seconds / steps * static_cast<double>(reading.total - reading.done);
    text += std::exchange(separator, ", ") + format_time(left) + " left";
  }
  if (seconds > 0) text += separator + format_rate(steps / seconds);
  for (const auto& [name, value] : reading.values)
    text += ", " + name + " " + format("%.4g", value);
  return text;
}

int columns(std::FILE* output) {
  winsize size{};
  if (ioctl(fileno(output), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kWidthWhereUnknown;
  return size.ws_col;
}

}  // namespace

std::string render_bar(const ProgressReading& reading, int width) {
  std::string before = reading.title + " " + percent(reading);
  std::string after = counts_and_times(reading);
  const auto room_beside = [&] {
    return width - static_cast<int>(before.size() + after.size()) - 4;
  };
  if (room_beside() < kBarMin) {
    const std::string shorter = counts_and_times(reading, /*with_elapsed=*/false);
    if (room_beside() + static_cast<int>(after.size() - shorter.size()) >= kBarMin) after = shorter;
  }
  const int room = room_beside();
  if (reading.total > 0 && room >= kBarMin) {
    const int full = static_cast<int>(fraction(reading) * room);
    before += " |" + std::string(full, '#') + std::string(room - full, '-') + "|";
  }
  return (before + " " + after).substr(0, std::max(width, 0));
}

std::string render_line(const ProgressReading& reading) {
  std::string text = reading.title + " " + percent(reading);
  if (reading.total > 0) text += " ";
  return text + counts_and_times(reading);
}

ProgressBar::ProgressBar(std::string title, std::int64_t total, const ProgressBarOptions& options,
                         Clock::time_point now)
    : options_{options},
      terminal_{options.terminal.value_or(isatty(fileno(options.output)) == 1)},
      reading_{.title = std::move(title),
               .done = options.begun,
               .total = total,
               .begun = options.begun,
               .elapsed = {},
               .values = {}},
      begun_{now},
      next_{now + (terminal_ ? options.bar_interval : options.line_interval)} {}

ProgressBar::~ProgressBar() { finish(); }

void ProgressBar::update(std::int64_t done, const Values& values, Clock::time_point now) {
  news_ = news_ || done != reading_.done || values != reading_.values;
  reading_.done = done;
  if (!options_.shown) return;
  reading_.values = values;
  if (now >= next_) show(now, false);
}

void ProgressBar::finish(Clock::time_point now) {
  if (finished_ || !options_.shown) return;
  finished_ = true;
  if (terminal_ || news_) show(now, true);  // a file has the last line already
}

void ProgressBar::show(Clock::time_point now, bool last) {
  news_ = false;
  reading_.elapsed = now - begun_;
  next_ = now + (terminal_ ? options_.bar_interval : options_.line_interval);
  // \x1b[K erases the rest of the line, where a longer text may have left something.
  const std::string text =
      terminal_ ? "\r" + render_bar(reading_, columns(options_.output) - 1) + "\x1b[K"
                : render_line(reading_);
  std::fputs((text + (last || !terminal_ ? "\n" : "")).c_str(), options_.output);
  std::fflush(options_.output);
}

}  // namespace ddprun::sdk
