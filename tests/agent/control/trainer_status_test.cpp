#include "agent/control/trainer_status.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("what transformers 5.23 posts in the middle of a training is read") {
  const auto status = parse_trainer_status(
      R"({"trainerStatus": {"lastUpdatedTime": "2026-11-22T08:00:00+00:00", "progressPercentage": 27,
          "estimatedRemainingSeconds": 14, "metrics": [
            {"name": "loss", "value": "4.3217"}, {"name": "grad_norm", "value": "0.5"},
            {"name": "learning_rate", "value": "5e-05"}, {"name": "current_step", "value": "270"},
            {"name": "total_steps", "value": "1000"}, {"name": "current_epoch", "value": "0.27"}]}})");
  REQUIRE(status.has_value());
  CHECK(status->step == 270);
  CHECK(status->steps == 1000);
  CHECK(status->loss == 4.3217);
  CHECK(status->left_s == 14);
}

TEST_CASE("what it posts in the beginning has no step yet") {
  const auto status = parse_trainer_status(
      R"({"trainerStatus": {"progressPercentage": 0, "metrics": [{"name": "total_steps", "value": "40"}]}})");
  REQUIRE(status.has_value());
  CHECK_FALSE(status->step.has_value());
  CHECK(status->steps == 40);
  CHECK(status->left_s == -1);
}

TEST_CASE("numbers that make no sense are passed over") {
  const auto status = parse_trainer_status(
      R"({"trainerStatus": {"estimatedRemainingSeconds": 1e300, "metrics": [
            {"name": "loss", "value": "nan"}, {"name": "current_step", "value": "-3"},
            {"name": "total_steps", "value": "1e99"}, {"name": "train_loss", "value": "inf"}]}})");
  REQUIRE(status.has_value());
  CHECK(*status == TrainerStatus{});
}

TEST_CASE("what is no status is an error") {
  for (const char* body :
       {"", "[]", "{}", R"({"trainerStatus": 7})", R"({"trainerStatus": {"metrics": [3]}})",
        R"({"trainerStatus": {"metrics": [{"name": "loss"}]}})"})
    CHECK(parse_trainer_status(body).has_error());
}

TEST_CASE("a post adds to what was reported before") {
  TrainerStatus told{.step = 5, .steps = 40, .loss = 2.5, .left_s = 70};
  update(told, {.step = 6, .left_s = 60});
  CHECK(told == TrainerStatus{.step = 6, .steps = 40, .loss = 2.5, .left_s = 60});
}

}  // namespace
}  // namespace ddprun
