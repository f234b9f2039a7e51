// What a training tells of itself in the way of the Kubeflow Trainer: Hugging Face's Trainer does
// so by itself where the variables below are set. Pure.
//
// The form is that of transformers' KubeflowCallback (5.x, integrations/integration_utils.py):
//   {"trainerStatus": {"progressPercentage": 27, "estimatedRemainingSeconds": 14,
//                      "metrics": [{"name": "loss", "value": "4.32"}, ...]}}
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace ddprun {

inline constexpr char kTrainerUrlVariable[] = "KUBEFLOW_TRAINER_SERVER_URL";
inline constexpr char kTrainerTokenVariable[] = "KUBEFLOW_TRAINER_SERVER_TOKEN";
/// The host of that URL.
inline constexpr char kTrainerHost[] = "127.0.0.1";

struct TrainerStatus {
  std::optional<std::int64_t> step;
  std::int64_t steps = 0;      // the whole training's; 0: it has not told
  std::optional<double> loss;  // the last one; no finite number is not told
  double samples_per_second = 0;
  std::int64_t left_s = -1;  // until the training ends; -1: it has not told
  bool operator==(const TrainerStatus&) const = default;
};

/// Reads the body of a POST. What it does not tell keeps its default. Errors: kInvalid.
Result<TrainerStatus> parse_trainer_status(std::string_view body);

/// Adds what is new to what was reported before: a report without a loss leaves the former one.
void update(TrainerStatus& told, const TrainerStatus& news);

}  // namespace ddprun
