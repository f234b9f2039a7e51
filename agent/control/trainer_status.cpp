#include "agent/control/trainer_status.hpp"

#include <cmath>
#include <string>

#include "base/json/json_fields.hpp"
#include "base/json/json_text.hpp"
#include "base/numbers.hpp"

namespace ddprun {

namespace {

constexpr std::int64_t kStepMax = std::int64_t{1} << 53;  // a double counts that far
constexpr std::int64_t kLeftMaxS = 10LL * 366 * 24 * 3600;

/// Metrics are texts: "4.32", "270".
std::optional<double> number_of(const nlohmann::json* value) {
  if (const auto number = number_in(value)) return number;
  const std::string* text = text_in(value);
  return text == nullptr ? std::nullopt : parse_number<double>(*text);
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

/// Throws fields::Unfit.
TrainerStatus status_in(const nlohmann::json& in) {
  const auto& told = fields::member_in(in, "trainerStatus", "body");
  if (!is_object(&told)) throw fields::Unfit{"'trainerStatus' is no object"};
  TrainerStatus status;
  if (const auto seconds = number_of(member(told, "estimatedRemainingSeconds")))
    status.left_s = count_of(*seconds, kLeftMaxS).value_or(-1);
  const auto metrics = entries(member(told, "metrics"));
  if (!metrics) return status;
  for (const auto* metric : *metrics)
    if (const auto value = number_of(&fields::member_in(*metric, "value", "metrics")))
      take_metric(status, fields::text_from(fields::member_in(*metric, "name", "metrics"), "name"),
                  *value);
  return status;
}

}  // namespace

Result<TrainerStatus> parse_trainer_status(std::string_view body) try {
  const auto in = parse_json(body);
  if (!in) return invalid("malformed status of a training: " + in.error().message);
  return status_in(**in);
} catch (const fields::Unfit& unfit) {
  return invalid(std::string{"malformed status of a training: "} + unfit.what());
}

void update(TrainerStatus& told, const TrainerStatus& news) {
  if (news.step) told.step = news.step;
  if (news.steps > 0) told.steps = news.steps;
  if (news.loss) told.loss = news.loss;
  if (news.samples_per_second > 0) told.samples_per_second = news.samples_per_second;
  told.left_s = news.left_s;
}

}  // namespace ddprun
