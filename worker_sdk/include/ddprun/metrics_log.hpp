// MetricsLog: what a training measures, in files and in ddprun's live view. Needs no LibTorch.
#pragma once

#include <cstdint>
#include <ddprun/heartbeat.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::sdk {

class EventFile;

/// Where metrics go; an empty path is nowhere.
struct MetricsOptions {
  /// A file with a line for each log(): {"step":20,"time":1780000000.5,"loss":0.25}. A value that
  /// is inf or NaN, for which JSON has no number, is null.
  std::filesystem::path json_lines = {};
  /// A folder for TensorBoard (https://www.tensorflow.org/tensorboard): `tensorboard --logdir
  /// FOLDER`.
  std::filesystem::path tensorboard = {};
};

/// Every rank has one, so that ddprun shows all of them; only one of them has files:
///
///     MetricsLog metrics{group.rank() == 0 ? MetricsOptions{.tensorboard = "runs/1"}
///                                          : MetricsOptions{}};
///     metrics.resume(step);  // of the checkpoint, or 0
///     ...
///     metrics.log(step, {{"loss", loss}, {"lr", lr}}, samples);
///
/// It has a Heartbeat, so the program needs none. Used by one thread.
class MetricsLog {
 public:
  explicit MetricsLog(MetricsOptions options = {});
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  /// Drops what the files say of steps after `step`, which an attempt before this one has written
  /// and which now come again. Call it before the first log(); without it, all stays. Errors:
  /// std::logic_error after log(); std::runtime_error for a file that cannot be written, or that
  /// has other lines.
  void resume(std::int64_t step);

  /// Writes the values of step `step`, and lets ddprun show step, "loss" and how fast `samples`
  /// come: how many this rank has seen since the last call. Names are in UTF-8. A reader has it
  /// when it returns. Errors: std::runtime_error for a file that cannot be written.
  void log(std::int64_t step, const std::vector<std::pair<std::string, double>>& values,
           std::int64_t samples = 0);

 private:
  void open(std::int64_t last_step);

  MetricsOptions options_;
  Heartbeat heartbeat_;
  bool open_ = false;
  std::ofstream lines_;
  std::unique_ptr<EventFile> events_;
};

}  // namespace ddprun::sdk
