// ProgressBar: how far a training is, for people who watch a terminal, and for log files. No
// LibTorch.
//
// The bar shows what tqdm's shows (https://tqdm.github.io), which Python programs use.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::sdk {

/// What there is to show.
struct ProgressReading {
  std::string title;       // "epoch 3"
  std::int64_t done = 0;   // steps
  std::int64_t total = 0;  // steps; 0: not known
  std::chrono::duration<double> elapsed{};
  std::vector<std::pair<std::string, double>> values;  // {"loss", 0.31}
};

/// "epoch 3  42% |####----| 420/1000 0:12 elapsed, 0:17 left, 35/s, loss 0.31", cut to `width`
/// columns. Pure.
std::string render_bar(const ProgressReading& reading, int width);

/// The same without the bar itself. Pure.
std::string render_line(const ProgressReading& reading);

struct ProgressBarOptions {
  bool shown = true;             // group.rank() == 0
  std::FILE* output = stdout;    // outlives the bar
  std::optional<bool> terminal;  // nullopt: found out
  std::chrono::milliseconds bar_interval{100};
  std::chrono::milliseconds line_interval{10'000};
};

/// On a terminal one line that changes; else a plain line now and then, and one at the end.
class ProgressBar {
 public:
  using Clock = std::chrono::steady_clock;
  using Values = std::vector<std::pair<std::string, double>>;

  /// `total`: steps; 0: not known.
  ProgressBar(std::string title, std::int64_t total, const ProgressBarOptions& options = {},
              Clock::time_point now = Clock::now());
  /// finish().
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `done` steps so far. Costs a clock reading unless it is time to show something.
  void update(std::int64_t done, const Values& values = {}, Clock::time_point now = Clock::now());

  /// Shows the last update for good, and ends the line. Nothing happens the second time.
  void finish(Clock::time_point now = Clock::now());

 private:
  void show(Clock::time_point now, bool last);

  ProgressBarOptions options_;
  bool terminal_;
  ProgressReading reading_;
  Clock::time_point begun_;
  Clock::time_point next_;
  bool finished_ = false;
};

}  // namespace ddprun::sdk
