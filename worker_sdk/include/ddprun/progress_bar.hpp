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

/// What a bar or a line shows.
struct ProgressReading {
  std::string title;                                   // "epoch 3"
  std::int64_t done = 0;                               // steps that are done
  std::int64_t total = 0;                              // steps in all; 0 when that is not known
  std::int64_t begun = 0;                              // steps that were done when it began
  std::chrono::duration<double> elapsed{};             // since then
  std::vector<std::pair<std::string, double>> values;  // names and numbers: {"loss", 0.31}
};

/// Returns a line such as "epoch 3 42% |####----| 420/1000 0:12 elapsed, 0:17 left, 35/s, loss
/// 0.31", cut to `width` columns. If there is no room for the bar, the elapsed time is left out,
/// and then the bar. Pure.
std::string render_bar(const ProgressReading& reading, int width);

/// Returns the same without the bar, at its full length, for a log file. Pure.
std::string render_line(const ProgressReading& reading);

struct ProgressBarOptions {
  bool shown = true;                  // usually group.rank() == 0
  std::int64_t begun = 0;             // steps that were done before, as after a resume
  std::FILE* output = stdout;         // outlives the bar
  std::optional<bool> terminal = {};  // whether `output` is one; nullopt: the bar finds out
  std::chrono::milliseconds bar_interval{100};      // between two updates on a terminal
  std::chrono::milliseconds line_interval{10'000};  // between two lines elsewhere
};

/// Shows on a terminal one line that changes, and elsewhere a plain line now and then and one at
/// the end. Used by one thread.
class ProgressBar {
 public:
  using Clock = std::chrono::steady_clock;
  using Values = std::vector<std::pair<std::string, double>>;

  /// Shows nothing yet. `total` is the number of steps; 0 when it is not known.
  ProgressBar(std::string title, std::int64_t total, const ProgressBarOptions& options = {},
              Clock::time_point now = Clock::now());
  /// Calls finish().
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Takes note that `done` steps are done so far, and shows them with `values` when it is time to.
  /// Otherwise it costs a reading of the clock.
  void update(std::int64_t done, const Values& values = {}, Clock::time_point now = Clock::now());

  /// Shows the last update for good and ends the line. A second call does nothing.
  void finish(Clock::time_point now = Clock::now());

 private:
  void show(Clock::time_point now, bool last);

  ProgressBarOptions options_;
  bool terminal_;
  ProgressReading reading_;
  Clock::time_point begun_;
  Clock::time_point next_;
  bool finished_ = false;
  bool news_ = true;  // something that show() has not shown
};

}  // namespace ddprun::sdk
