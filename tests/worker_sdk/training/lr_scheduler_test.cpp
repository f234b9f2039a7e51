// Schedules beside Python's: the same rates and momenta in every step, also after a resume, and
// when one of the two goes on where the other one stood.

#include "ddprun/lr_scheduler.hpp"

#include <cmath>
#include <fstream>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ddprun/optimizer_state.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/python.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun::sdk {
namespace {

constexpr int kSteps = 120;
constexpr int kMiddle = 47;

/// The same schedules, in the same order, as make_all() below.
constexpr char kPythonScheduler[] = R"(
import json, sys, torch
from torch.optim.lr_scheduler import *
def make_all():
    return [
        lambda o: ConstantLR(o, factor=0.3, total_iters=50),
        lambda o: LinearLR(o, start_factor=0.01, end_factor=0.9, total_iters=70),
        lambda o: StepLR(o, step_size=13, gamma=0.7),
        lambda o: ExponentialLR(o, gamma=0.97),
        lambda o: CosineAnnealingLR(o, T_max=50, eta_min=1e-3),
        lambda o: LambdaLR(o, [lambda n: 1 / (1 + n), lambda n: 0.5 ** (n // 10)]),
        lambda o: OneCycleLR(o, max_lr=0.3, total_steps=120),
        lambda o: OneCycleLR(o, max_lr=[0.3, 0.1], total_steps=119, pct_start=0.2,
                             anneal_strategy="linear", three_phase=True),
        lambda o: OneCycleLR(o, max_lr=0.3, total_steps=120, cycle_momentum=False, pct_start=0.0),
        lambda o: SequentialLR(o, [LinearLR(o, 0.001, 1.0, 20), CosineAnnealingLR(o, 100)], [20]),
        lambda o: SequentialLR(o, [ConstantLR(o, 0.1, 9), StepLR(o, 10, 0.5), LinearLR(o, 0.5),
                                   LambdaLR(o, lambda n: 1 - n / 100), ExponentialLR(o, 0.9)],
                               [10, 40, 60, 80]),
        lambda o: ChainedScheduler([LinearLR(o, 0.05, 1.0, 30), ExponentialLR(o, 0.99)]),
        lambda o: ChainedScheduler([ConstantLR(o, 0.5, 60), SequentialLR(
            o, [ExponentialLR(o, 0.98), CosineAnnealingLR(o, 80)], [40])]),
    ]
def parameters():
    one = lambda: torch.nn.Parameter(torch.zeros(1))
    return [{"params": [one()], "lr": 0.1}, {"params": [one()], "lr": 0.02}]
def make_optimizer(number):
    return (torch.optim.AdamW(parameters()) if number % 2 == 0
            else torch.optim.SGD(parameters(), momentum=0.9))
def go_on(optimizer, scheduler, first, last):
    for step in range(first, last):
        if step > 0:
            optimizer.step()
            scheduler.step()
        for group in optimizer.param_groups:
            print("%.17g" % group["lr"],
                  "%.17g" % (group["betas"][0] if "betas" in group else group["momentum"]))
cpp = json.load(open(FOLDER + "/cpp.json"))
python = []
for number, make in enumerate(make_all()):
    optimizer = make_optimizer(number)
    scheduler = make(optimizer)
    go_on(optimizer, scheduler, 0, MIDDLE)
    groups = [{k: v for k, v in g.items() if k != "params"} for g in optimizer.param_groups]
    python.append({"state": scheduler.state_dict(), "groups": groups})
    go_on(optimizer, scheduler, MIDDLE, STEPS)
json.dump(python, open(FOLDER + "/python.json", "w"))
for number, make in enumerate(make_all()):
    optimizer = make_optimizer(number)
    scheduler = make(optimizer)
    for group, saved in zip(optimizer.param_groups, json.loads(cpp[number]["options"])):
        group.update({k: v for k, v in saved.items() if k != "params"})
    scheduler.load_state_dict(json.loads(cpp[number]["state"]))
    go_on(optimizer, scheduler, MIDDLE, STEPS)
)";

std::vector<Schedule> make_all() {
  using Step = std::int64_t;
  const auto number = [](Step n) { return static_cast<double>(n); };
  return {
      ConstantLR{.factor = 0.3, .total_iters = 50},
      LinearLR{.start_factor = 0.01, .end_factor = 0.9, .total_iters = 70},
      StepLR{.step_size = 13, .gamma = 0.7},
      ExponentialLR{.gamma = 0.97},
      CosineAnnealingLR{.T_max = 50, .eta_min = 1e-3},
      LambdaLR{{[=](Step n) { return 1 / (1 + number(n)); },
                [=](Step n) { return std::pow(0.5, number(n / 10)); }}},
      OneCycleLR{.max_lr = {0.3}, .total_steps = 120},
      OneCycleLR{.max_lr = {0.3, 0.1},
                 .total_steps = 119,
                 .pct_start = 0.2,
                 .anneal_strategy = Annealing::kLinear,
                 .three_phase = true},
      OneCycleLR{.max_lr = {0.3}, .total_steps = 120, .pct_start = 0.0, .cycle_momentum = false},
      SequentialLR{{LinearLR{0.001, 1.0, 20}, CosineAnnealingLR{100}}, {20}},
      SequentialLR{{ConstantLR{0.1, 9}, StepLR{10, 0.5}, LinearLR{.start_factor = 0.5},
                    LambdaLR{{[=](Step n) { return 1 - number(n) / 100; }}}, ExponentialLR{0.9}},
                   {10, 40, 60, 80}},
      ChainedScheduler{{LinearLR{0.05, 1.0, 30}, ExponentialLR{0.99}}},
      ChainedScheduler{
          {ConstantLR{0.5, 60}, SequentialLR{{ExponentialLR{0.98}, CosineAnnealingLR{80}}, {40}}}},
  };
}

/// An optimizer of two groups of parameters with a schedule.
struct ScheduledTraining {
  explicit ScheduledTraining(std::size_t number) : optimizer{make_optimizer(number)} {
    scheduler = std::make_unique<LRScheduler>(*optimizer, make_all()[number]);
  }

  static std::unique_ptr<torch::optim::Optimizer> make_optimizer(std::size_t number) {
    std::vector<torch::optim::OptimizerParamGroup> groups;
    for (const double lr : {0.1, 0.02}) {
      groups.emplace_back(std::vector<torch::Tensor>{torch::zeros({1}).requires_grad_()});
      if (number % 2 == 0)
        groups.back().set_options(std::make_unique<torch::optim::AdamWOptions>(lr));
      else
        groups.back().set_options(
            std::make_unique<torch::optim::SGDOptions>(torch::optim::SGDOptions{lr}.momentum(0.9)));
    }
    if (number % 2 == 0) return std::make_unique<torch::optim::AdamW>(groups);
    return std::make_unique<torch::optim::SGD>(groups, torch::optim::SGDOptions{0.1});
  }

  /// Rate and momentum of each group, for these steps.
  void go_on(int first, int last, std::vector<double>& seen) {
    for (int step = first; step < last; ++step) {
      if (step > 0) scheduler->step();
      for (const auto& group : nlohmann::json::parse(optimizer_options(*optimizer))) {
        seen.push_back(group.at("lr"));
        seen.push_back(group.contains("betas") ? group.at("betas").at(0) : group.at("momentum"));
      }
    }
  }

  std::unique_ptr<torch::optim::Optimizer> optimizer;
  std::unique_ptr<LRScheduler> scheduler;
};

/// What begins where another one of the same schedule stood.
ScheduledTraining resumed(std::size_t number, const std::string& options,
                          const std::string& state) {
  ScheduledTraining training{number};
  restore_optimizer_options(*training.optimizer, options);
  training.scheduler->restore_state(state);
  return training;
}

void check_equal(const std::vector<double>& ours, const std::vector<double>& python) {
  REQUIRE(ours.size() == python.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    INFO("number " << i << ": " << std::setprecision(17) << ours[i] << " here, " << python[i]
                   << " in Python");
    REQUIRE(std::abs(ours[i] - python[i]) <= 1e-12 * std::abs(python[i]));
  }
}

TEST_CASE("a whole run has the rates and momenta of Python, also when one goes on for the other") {
  const ScratchFolder folder;
  const std::size_t cases = make_all().size();
  std::vector<double> whole;
  std::vector<double> second_halves;
  std::vector<double> resumed_here;
  nlohmann::json middles = nlohmann::json::array();
  for (std::size_t number = 0; number < cases; ++number) {
    ScheduledTraining training{number};
    training.go_on(0, kMiddle, whole);
    const std::string options = optimizer_options(*training.optimizer);
    const std::string state = training.scheduler->save_state();
    middles.push_back({{"options", options}, {"state", state}});
    training.go_on(kMiddle, kSteps, whole);
    resumed(number, options, state).go_on(kMiddle, kSteps, resumed_here);
  }
  std::ofstream{folder / "cpp.json"} << middles;
  std::istringstream printed{python("FOLDER, MIDDLE, STEPS = \"" + folder.path().string() + "\", " +
                                    std::to_string(kMiddle) + ", " + std::to_string(kSteps) + "\n" +
                                    kPythonScheduler)};
  std::vector<double> expected(whole.size());
  for (double& one : expected) printed >> one;
  for (double one = 0; printed >> one;) second_halves.push_back(one);
  check_equal(whole, expected);
  check_equal(resumed_here, second_halves);  // Python has gone on from our states

  const auto theirs = nlohmann::json::parse(std::ifstream{folder / "python.json"});
  std::vector<double> from_python;
  for (std::size_t number = 0; number < cases; ++number) {
    auto groups = theirs[number].at("groups");
    for (std::size_t i = 0; i < groups.size(); ++i) groups[i]["params"] = {i};
    resumed(number, groups.dump(), theirs[number].at("state").dump())
        .go_on(kMiddle, kSteps, from_python);
  }
  check_equal(from_python, resumed_here);
}

TEST_CASE("a schedule that makes no sense is refused") {
  const auto refused = [](const Schedule& schedule, const std::string& why) {
    torch::optim::Adagrad optimizer{{torch::zeros({1})}, torch::optim::AdagradOptions{0.1}};
    CHECK_THROWS_WITH((LRScheduler{optimizer, schedule}), contains(why));
  };
  refused(ConstantLR{.factor = 0}, "factor");
  refused(LinearLR{.start_factor = 2}, "start_factor");
  refused(LinearLR{.total_iters = 0}, "total_iters");
  refused(StepLR{.step_size = 0}, "step_size");
  refused(CosineAnnealingLR{.T_max = 0}, "T_max");
  refused(LambdaLR{}, "one function");
  refused(OneCycleLR{.max_lr = {1, 2}, .total_steps = 9}, "one number");
  refused(OneCycleLR{.max_lr = {1}, .total_steps = 9}, "an optimizer with momentum");
  refused(OneCycleLR{.max_lr = {1}, .total_steps = 10, .pct_start = 0.1, .cycle_momentum = false},
          "phases of a OneCycleLR");
  refused(SequentialLR{{StepLR{}}, {1}}, "one schedule more");
  refused(SequentialLR{{StepLR{}, StepLR{}, StepLR{}}, {2, 2}}, "milestones");
  refused(SequentialLR{{ChainedScheduler{{StepLR{}}}}, {}}, "neither");
  refused(ChainedScheduler{}, "a schedule in a ChainedScheduler");
}

TEST_CASE("a OneCycleLR has no step after its last, and another schedule's state is refused") {
  torch::optim::SGD optimizer{{torch::zeros({1})}, 0.1};
  LRScheduler cycle{optimizer, OneCycleLR{.max_lr = {1}, .total_steps = 9}};
  for (int step = 0; step < 9; ++step) cycle.step();
  CHECK_THROWS_WITH(cycle.step(), contains("step 10 of a OneCycleLR of 9 steps"));
  LRScheduler chain{optimizer, ChainedScheduler{{StepLR{}}}};
  CHECK_THROWS_WITH(chain.restore_state(cycle.save_state()), contains("not of this schedule"));
  CHECK_THROWS_WITH(chain.restore_state("x"), contains("not of this schedule"));
}

}  // namespace
}  // namespace ddprun::sdk
