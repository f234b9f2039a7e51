#include "ddprun/metrics_log.hpp"

#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "worker_sdk/progress/event_file.hpp"

namespace ddprun::sdk {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kAllSteps = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw std::runtime_error{"cannot write the metrics '" + path.string() + "': " + why};
}

/// Whether a line is of a step up to `last_step`.
bool is_kept(const fs::path& path, const std::string& line, std::int64_t last_step) {
  const json values = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!values.is_object() || !values.contains("step") || !values["step"].is_number_integer())
    refuse(path, "it has a line that is no metrics: " + line.substr(0, 80));
  return values["step"].get<std::int64_t>() <= last_step;
}

/// Rewrites the file without what is of later steps, and without the end of a line that a worker
/// was killed in.
void keep_until(const fs::path& path, std::int64_t last_step) {
  std::ifstream before{path};
  if (!before) return;
  const fs::path temporary = path.string() + ".tmp";
  std::ofstream kept{temporary};
  std::string line;
  while (std::getline(before, line) && !before.eof())
    if (is_kept(path, line, last_step)) kept << line << '\n';
  kept.close();
  if (!kept) refuse(temporary, "the disk may be full");
  fs::rename(temporary, path);
}

}  // namespace

MetricsLog::MetricsLog(MetricsOptions options) : options_{std::move(options)} {}

MetricsLog::~MetricsLog() = default;

void MetricsLog::resume(std::int64_t step) {
  if (open_) throw std::logic_error{"MetricsLog: resume() after log()"};
  open(step);
}

void MetricsLog::open(std::int64_t last_step) {
  open_ = true;
  if (!options_.tensorboard.empty()) {
    events_ = std::make_unique<EventFile>(options_.tensorboard);
    if (last_step != kAllSteps) events_->restart_at(last_step + 1);
  }
  if (options_.json_lines.empty()) return;
  keep_until(options_.json_lines, last_step);
  lines_.open(options_.json_lines, std::ios::app);
  if (!lines_) refuse(options_.json_lines, "it cannot be opened");
}

void MetricsLog::log(std::int64_t step, const std::vector<std::pair<std::string, double>>& values,
                     std::int64_t samples) {
  if (!open_) open(kAllSteps);
  double loss = Heartbeat::kNoLoss;
  for (const auto& [name, value] : values)
    if (name == "loss") loss = value;
  heartbeat_.beat(step, samples, loss);

  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const double time = std::chrono::duration<double>{now}.count();
  if (events_) events_->add(time, step, values);
  if (!lines_.is_open()) return;
  nlohmann::ordered_json line{{"step", step}, {"time", time}};
  for (const auto& [name, value] : values) line[name] = value;
  if (!(lines_ << line.dump() << std::endl)) refuse(options_.json_lines, "the disk may be full");
}

}  // namespace ddprun::sdk
