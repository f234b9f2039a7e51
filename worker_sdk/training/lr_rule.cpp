#include "worker_sdk/training/lr_rule.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "worker_sdk/training/lr_formulas.hpp"

namespace ddprun::sdk {

namespace {

using nlohmann::json;

std::vector<double> rates(const ScheduledGroups& groups) {
  std::vector<double> out;
  for (const ScheduledGroup& group : groups) out.push_back(group.lr);
  return out;
}

/// A rule that is not made of others. The constructor of what derives from it calls step().
class CountingRule : public LrRule {
 public:
  explicit CountingRule(const ScheduledGroups& groups) {
    for (const ScheduledGroup& group : groups) base_lrs_.push_back(group.initial_lr);
  }

  void step(ScheduledGroups& groups) final {
    ++step_count_;
    ++last_epoch_;
    set(groups);
    last_lr_ = rates(groups);
  }

  /// Forgets all steps, and does step 0: the first rule of a SequentialLR begins twice.
  void begin_again(ScheduledGroups& groups) {
    step_count_ = 0;
    last_epoch_ = -1;
    step(groups);
  }

  /// Does step 0 when its time has come within a SequentialLR.
  void restart(ScheduledGroups& groups) {
    last_epoch_ = 0;
    set_first(groups);
    last_lr_ = rates(groups);
  }

  std::vector<double> last_lr() const override { return last_lr_; }

  json state() const override {
    return {{"last_epoch", last_epoch_},
            {"_step_count", step_count_},
            {"base_lrs", base_lrs_},
            {"_last_lr", last_lr_}};
  }

  void load(const json& state) override {
    const auto base_lrs = state.at("base_lrs").get<std::vector<double>>();
    if (base_lrs.size() != base_lrs_.size())
      throw std::invalid_argument{
          "the saved state is of a schedule for another number of groups of parameters: " +
          std::to_string(base_lrs.size()) + ", not " + std::to_string(base_lrs_.size())};
    last_epoch_ = state.at("last_epoch");
    step_count_ = state.at("_step_count");
    last_lr_ = state.at("_last_lr").get<std::vector<double>>();
    base_lrs_ = base_lrs;
  }

 protected:
  virtual void set(ScheduledGroups& groups) = 0;
  virtual void set_first(ScheduledGroups& groups) { set(groups); }

  std::int64_t last_epoch_ = -1;
  std::vector<double> base_lrs_;

 private:
  std::int64_t step_count_ = 0;
  std::vector<double> last_lr_;
};

template <typename Options>
class PlainRule : public CountingRule {
 public:
  PlainRule(const Options& options, ScheduledGroups& groups)
      : CountingRule{groups}, options_{options} {
    check(options_, groups.size());
    step(groups);
  }

  json state() const override {
    json state = CountingRule::state();
    // Python's load_state_dict() demands it, with null for each function that has no state.
    if constexpr (std::is_same_v<Options, LambdaLR>)
      state["lr_lambdas"] = json::array_t(base_lrs_.size());
    return state;
  }

 private:
  void set(ScheduledGroups& groups) override {
    for (std::size_t i = 0; i < groups.size(); ++i)
      groups[i].lr = next_rate(options_, {last_epoch_, base_lrs_[i], i}, groups[i].lr);
  }

  void set_first(ScheduledGroups& groups) override {
    if constexpr (std::is_same_v<Options, LambdaLR>)
      set(groups);
    else
      for (std::size_t i = 0; i < groups.size(); ++i)
        groups[i].lr = first_rate(options_, base_lrs_[i]);
  }

  Options options_;
};

/// Sets the rate that the group's later rules take for the first one, before they are made.
class OneCycleRule : public CountingRule {
 public:
  OneCycleRule(const OneCycleLR& options, ScheduledGroups& groups)
      : CountingRule{checked(options, groups)}, options_{options} {
    step(groups);
  }

 private:
  static double of(const std::vector<double>& numbers, std::size_t group) {
    return numbers[numbers.size() == 1 ? 0 : group];
  }

  static ScheduledGroups& checked(const OneCycleLR& options, ScheduledGroups& groups) {
    check(options, groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
      require_of_schedule(!options.cycle_momentum || groups[i].momentum.has_value(),
                          "an optimizer with momentum or betas for OneCycleLR's cycle_momentum");
      groups[i].initial_lr = of(options.max_lr, i) / options.div_factor;
    }
    return groups;
  }

  double rate(CyclePhase::Rate which, std::size_t group) const {
    const double max = of(options_.max_lr, group);
    const double initial = max / options_.div_factor;
    if (which == CyclePhase::kMax) return max;
    return which == CyclePhase::kInitial ? initial : initial / options_.final_div_factor;
  }

  double momentum(bool max, std::size_t group) const {
    return of(max ? options_.max_momentum : options_.base_momentum, group);
  }

  void set(ScheduledGroups& groups) override {
    const auto [phase, share] = place_in_cycle(options_, last_epoch_);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      groups[i].lr =
          anneal(options_.anneal_strategy, rate(phase.from, i), rate(phase.to, i), share);
      if (options_.cycle_momentum)
        groups[i].momentum = anneal(options_.anneal_strategy, momentum(phase.momentum_from_max, i),
                                    momentum(phase.momentum_to_max, i), share);
    }
  }

  OneCycleLR options_;
};

std::unique_ptr<CountingRule> make_counting(const Schedule& schedule, ScheduledGroups& groups) {
  return std::visit(
      [&](const auto& options) -> std::unique_ptr<CountingRule> {
        using Options = std::remove_cvref_t<decltype(options)>;
        if constexpr (std::is_same_v<Options, OneCycleLR>)
          return std::make_unique<OneCycleRule>(options, groups);
        else if constexpr (std::is_same_v<Options, SequentialLR> ||
                           std::is_same_v<Options, ChainedScheduler>)
          throw std::invalid_argument{
              "a SequentialLR holds neither another one nor a ChainedScheduler"};
        else
          return std::make_unique<PlainRule<Options>>(options, groups);
      },
      schedule);
}

template <typename Rules>
json states(const Rules& rules) {
  json all = json::array();
  for (const auto& rule : rules) all.push_back(rule->state());
  return all;
}

template <typename Rules>
void load_all(Rules& rules, const json& state) {
  const json& all = state.at("_schedulers");
  if (all.size() != rules.size())
    throw std::invalid_argument{
        "the saved state has another number of schedules: " + std::to_string(all.size()) +
        ", not " + std::to_string(rules.size())};
  for (std::size_t i = 0; i < rules.size(); ++i) rules[i]->load(all[i]);
}

class SequentialRule : public LrRule {
 public:
  SequentialRule(const SequentialLR& options, ScheduledGroups& groups)
      : milestones_{options.milestones} {
    require_of_schedule(
        !options.schedulers.empty() && milestones_.size() + 1 == options.schedulers.size(),
        "one schedule more in a SequentialLR than milestones");
    for (std::size_t i = 0; i < milestones_.size(); ++i)
      require_of_schedule(milestones_[i] > (i == 0 ? 0 : milestones_[i - 1]),
                          "milestones of a SequentialLR from 1 on that grow");
    for (const Schedule& one : options.schedulers) rules_.push_back(make_counting(one, groups));
    for (ScheduledGroup& group : groups) group.lr = group.initial_lr;
    rules_.front()->begin_again(groups);
    last_lr_ = rates(groups);
  }

  void step(ScheduledGroups& groups) override {
    ++last_epoch_;
    const auto next = std::ranges::upper_bound(milestones_, last_epoch_);
    CountingRule& rule = *rules_[static_cast<std::size_t>(next - milestones_.begin())];
    if (next != milestones_.begin() && *std::prev(next) == last_epoch_)
      rule.restart(groups);
    else
      rule.step(groups);
    last_lr_ = rule.last_lr();
  }

  std::vector<double> last_lr() const override { return last_lr_; }

  json state() const override {
    return {{"last_epoch", last_epoch_}, {"_last_lr", last_lr_}, {"_schedulers", states(rules_)}};
  }

  void load(const json& state) override {
    load_all(rules_, state);
    last_epoch_ = state.at("last_epoch");
    last_lr_ = state.at("_last_lr").get<std::vector<double>>();
  }

 private:
  std::vector<std::unique_ptr<CountingRule>> rules_;
  std::vector<std::int64_t> milestones_;
  std::int64_t last_epoch_ = 0;
  std::vector<double> last_lr_;
};

class ChainedRule : public LrRule {
 public:
  ChainedRule(const ChainedScheduler& options, ScheduledGroups& groups) {
    require_of_schedule(!options.schedulers.empty(), "a schedule in a ChainedScheduler");
    for (const Schedule& one : options.schedulers) rules_.push_back(make_lr_rule(one, groups));
    last_lr_ = rates(groups);
  }

  void step(ScheduledGroups& groups) override {
    for (const auto& rule : rules_) rule->step(groups);
    last_lr_ = rates(groups);
  }

  std::vector<double> last_lr() const override { return last_lr_; }
  json state() const override { return {{"_last_lr", last_lr_}, {"_schedulers", states(rules_)}}; }

  void load(const json& state) override {
    load_all(rules_, state);
    last_lr_ = state.at("_last_lr").get<std::vector<double>>();
  }

 private:
  std::vector<std::unique_ptr<LrRule>> rules_;
  std::vector<double> last_lr_;
};

}  // namespace

std::unique_ptr<LrRule> make_lr_rule(const Schedule& schedule, ScheduledGroups& groups) {
  if (const auto* sequential = std::get_if<SequentialLR>(&schedule))
    return std::make_unique<SequentialRule>(*sequential, groups);
  if (const auto* chained = std::get_if<ChainedScheduler>(&schedule))
    return std::make_unique<ChainedRule>(*chained, groups);
  return make_counting(schedule, groups);
}

}  // namespace ddprun::sdk
