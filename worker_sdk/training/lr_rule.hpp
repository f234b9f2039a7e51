// LrRule: a schedule with the place at which it stands. It knows numbers only, no optimizer.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "ddprun/lr_schedule.hpp"

namespace ddprun::sdk {

/// What rules see and change of a group of parameters. The rules of one schedule meet here, as
/// Python's do in the optimizer's groups.
struct ScheduledGroup {
  double lr = 0;
  std::optional<double> momentum = {};  // or Adam's beta1; nullopt: the optimizer has neither
  double initial_lr = 0;                // the rate of step 0 for a rule that is made
};
using ScheduledGroups = std::vector<ScheduledGroup>;

/// Made by make_lr_rule(), which has done step 0.
class LrRule {
 public:
  virtual ~LrRule() = default;

  /// Sets the rates of the next step. Errors: std::out_of_range after a OneCycleLR's last.
  virtual void step(ScheduledGroups& groups) = 0;

  /// The rates that it has set last.
  virtual std::vector<double> last_lr() const = 0;

  /// Its place, under Python's names.
  virtual nlohmann::json state() const = 0;

  /// Goes to the place that state() told. Errors: nlohmann::json::exception, std::invalid_argument.
  virtual void load(const nlohmann::json& state) = 0;
};

/// Returns the rule of a schedule, and sets the rates of step 0. Errors: std::invalid_argument.
std::unique_ptr<LrRule> make_lr_rule(const Schedule& schedule, ScheduledGroups& groups);

}  // namespace ddprun::sdk
