#include "agent/control/trainer_status.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/parse_number.hpp"

namespace ddprun {

namespace {

constexpr std::int64_t kStepMax = std::int64_t{1} << 53;  // a double counts that far
constexpr std::int64_t kLeftMaxS = 10LL * 366 * 24 * 3600;

/// Metrics are texts: "4.32", "270".
std::optional<double> number_of(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  return parse_number<double>(value.get_ref<const std::string&>());
}

std::optional<std::int64_t> count_of(double value, std::int64_t most) {
  if (!(value >= 0) || value > static_cast<double>(most)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

void take_metric(TrainerStatus& status, const std::string& name, double value) {
  if (name == "current_step") status.step = count_of(value, kStepMax);
  if (name == "total_steps") status.steps = count_of(value, kStepMax).value_or(0);
  const bool loss = name == "loss" || (name == "train_loss" && !status.loss);
  if (loss && std::isfinite(value)) status.loss = value;
  if (name == "train_samples_per_second" && std::isfinite(value) && value > 0)
    status.samples_per_second = value;
}

}  // namespace

Result<TrainerStatus> parse_trainer_status(std::string_view body) try {
  const auto in = nlohmann::json::parse(body);
  const auto& told = in.at("trainerStatus");
  if (!told.is_object())
    return invalid("malformed status of a training: 'trainerStatus' is no object");
  TrainerStatus status;
  if (const auto left = told.find("estimatedRemainingSeconds"); left != told.end())
    if (const auto seconds = number_of(*left))
      status.left_s = count_of(*seconds, kLeftMaxS).value_or(-1);
  if (const auto metrics = told.find("metrics"); metrics != told.end())
    for (const auto& metric : *metrics)
      if (const auto value = number_of(metric.at("value")))
        take_metric(status, metric.at("name").get<std::string>(), *value);
  return status;
} catch (const nlohmann::json::exception& e) {
  return invalid(std::string{"malformed status of a training: "} + e.what());
}

void update(TrainerStatus& told, const TrainerStatus& news) {
  if (news.step) told.step = news.step;
  if (news.steps > 0) told.steps = news.steps;
  if (news.loss) told.loss = news.loss;
  if (news.samples_per_second > 0) told.samples_per_second = news.samples_per_second;
  told.left_s = news.left_s;
}

}  // namespace ddprun
