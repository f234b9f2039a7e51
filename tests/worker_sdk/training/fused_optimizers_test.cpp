// Fused optimizers beside Python's: the same numbers to the last bit, alone, with a GradScaler, and
// when one goes on from the other's checkpoint.

#include "ddprun/fused_optimizers.hpp"

#include <array>
#include <cstdio>
#include <limits>
#include <sstream>

#include "ddprun/gradient_clipping.hpp"
#include "ddprun/mixed_precision.hpp"
#include "ddprun/optimizer_state.hpp"
#include "ddprun/safetensors.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/python.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun::sdk {
namespace {

using torch::optim::AdamOptions;
using torch::optim::AdamWOptions;
using torch::optim::SGDOptions;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int kKinds = 7;

/// The same optimizers, gradients and steps as below.
constexpr char kPython[] = R"(
import json, math, torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
torch.set_num_threads(1)
KINDS = [
    lambda p: torch.optim.SGD(p, 0.1, fused=True),
    lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01, nesterov=True, fused=True),
    lambda p: torch.optim.SGD(p, 0.1, momentum=0.8, dampening=0.5, fused=True),
    lambda p: torch.optim.Adam(p, 0.05, weight_decay=0.1, fused=True),
    lambda p: torch.optim.Adam(p, 0.05, betas=(0.8, 0.95), eps=1e-6, amsgrad=True, fused=True),
    lambda p: torch.optim.AdamW(p, 0.05, fused=True),
    lambda p: torch.optim.AdamW(p, 0.05, weight_decay=0.2, amsgrad=True, fused=True),
]
class Training:
    def __init__(self, kind):
        self.parameters = [torch.nn.Parameter(torch.linspace(-1, 1, n)) for n in (37, 20, 5)]
        self.optimizer = KINDS[kind]([{"params": self.parameters[:2]},
                                      {"params": self.parameters[2:], "lr": 0.01}])
    def backward(self, step, factor=1.0):
        for number, p in enumerate(self.parameters):
            p.grad = None if number == 1 and step == 2 else torch.sin(p.detach() * 3 + step) * factor
    def go_on(self, first, last):
        for step in range(first, last):
            self.backward(step)
            self.optimizer.step()
    def show(self):
        for p in self.parameters:
            print(*("%.9g" % x for x in p.tolist()))
def save(training, path):
    saved = training.optimizer.state_dict()
    tensors = {f"{i}/{k}": v for i, s in saved["state"].items() for k, v in s.items()
               if v is not None}
    for i, p in enumerate(training.parameters):
        tensors[f"parameter/{i}"] = p.detach()
    save_file(tensors, path, metadata={"param_groups": json.dumps(saved["param_groups"])})
def load(training, path):
    state = {}
    for name, tensor in load_file(path).items():
        i, field = name.split("/")
        if i == "parameter":
            training.parameters[int(field)].data.copy_(tensor)
        else:
            state.setdefault(int(i), {})[field] = tensor
    with safe_open(path, "pt") as file:
        groups = json.loads(file.metadata()["param_groups"])
    training.optimizer.load_state_dict({"state": state, "param_groups": groups})
    assert all(g["fused"] for g in training.optimizer.param_groups)
for kind in range(len(KINDS)):
    training = Training(kind)
    training.go_on(1, 5)
    save(training, FOLDER + "/python" + str(kind))
    training.go_on(5, 9)
    training.show()
for kind in range(len(KINDS)):
    training = Training(kind)
    load(training, FOLDER + "/cpp" + str(kind))
    training.go_on(5, 9)
    training.show()
for kind in range(len(KINDS)):
    training = Training(kind)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0, growth_interval=3)
    scaler.scale(torch.zeros(()))
    for step in range(1, 9):
        training.backward(step, math.inf if step == 4 else scaler.get_scale())
        if step == 6:
            scaler.unscale_(training.optimizer)
        scaler.step(training.optimizer)
        scaler.update()
    training.show()
    print("%.9g" % scaler.get_scale())
for norm_type in (2.0, 1.0, math.inf):
    training = Training(0)
    training.backward(1)
    training.parameters.append(torch.nn.Parameter(torch.zeros(3, dtype=torch.float64)))
    training.parameters[-1].grad = torch.ones(3, dtype=torch.float64)
    print("%.9g" % torch.nn.utils.clip_grad_norm_(training.parameters, 0.5, norm_type).item())
    for p in training.parameters:
        print(*("%.9g" % x for x in p.grad.tolist()))
)";

/// Three parameters in two groups, the second of which has a learning rate of its own.
struct Training {
  explicit Training(int kind) : optimizer{make(kind)} {}

  std::unique_ptr<torch::optim::Optimizer> make(int kind) {
    switch (kind) {
      case 0:
        return make<FusedSGD>(SGDOptions{0.1});
      case 1:
        return make<FusedSGD>(SGDOptions{0.1}.momentum(0.9).weight_decay(0.01).nesterov(true));
      case 2:
        return make<FusedSGD>(SGDOptions{0.1}.momentum(0.8).dampening(0.5));
      case 3:
        return make<FusedAdam>(AdamOptions{0.05}.weight_decay(0.1));
      case 4:
        return make<FusedAdam>(AdamOptions{0.05}.betas({0.8, 0.95}).eps(1e-6).amsgrad(true));
      case 5:
        return make<FusedAdamW>(AdamWOptions{0.05});
      default:
        return make<FusedAdamW>(AdamWOptions{0.05}.weight_decay(0.2).amsgrad(true));
    }
  }

  template <typename Optimizer, typename Options>
  std::unique_ptr<torch::optim::Optimizer> make(Options options) {
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(std::vector{parameters[0], parameters[1]});
    Options slow = options;
    slow.lr(0.01);
    groups.emplace_back(std::vector{parameters[2]}, std::make_unique<Options>(slow));
    return std::make_unique<Optimizer>(groups, options);
  }

  void backward(int step, double factor = 1) {
    for (std::size_t i = 0; i < 3; ++i)
      parameters[i].mutable_grad() = i == 1 && step == 2
                                         ? torch::Tensor{}
                                         : torch::sin(parameters[i].detach() * 3 + step) * factor;
  }

  void go_on(int first, int last) {
    for (int step = first; step < last; ++step) {
      backward(step);
      optimizer->step();
    }
  }

  std::vector<torch::Tensor> parameters{torch::linspace(-1, 1, 37).requires_grad_(),
                                        torch::linspace(-1, 1, 20).requires_grad_(),
                                        torch::linspace(-1, 1, 5).requires_grad_()};
  std::unique_ptr<torch::optim::Optimizer> optimizer;
};

void print(std::ostream& out, double number, char after) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", number);
  out << text.data() << after;
}

void show(std::ostream& out, const torch::Tensor& tensor) {
  const torch::Tensor values = tensor.detach().to(torch::kFloat64);
  for (std::int64_t i = 0; i < values.numel(); ++i)
    print(out, values[i].item<double>(), i + 1 < values.numel() ? ' ' : '\n');
}

void show(std::ostream& out, const Training& training) {
  for (const torch::Tensor& parameter : training.parameters) show(out, parameter);
}

void save(const Training& training, const std::filesystem::path& path) {
  SafeTensors contents{optimizer_state(*training.optimizer),
                       {{kParamGroups, optimizer_options(*training.optimizer)}}};
  for (std::size_t i = 0; i < 3; ++i)
    contents.tensors["parameter/" + std::to_string(i)] = training.parameters[i];
  save_safetensors(path, contents);
}

void load(Training& training, const std::filesystem::path& path) {
  torch::NoGradGuard no_grad;
  SafeTensors contents = load_safetensors(path);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto found = contents.tensors.find("parameter/" + std::to_string(i));
    training.parameters[i].copy_(found->second);
    contents.tensors.erase(found);
  }
  restore_optimizer_state(*training.optimizer, contents.tensors);
  restore_optimizer_options(*training.optimizer, contents.metadata.at(kParamGroups));
}

/// With a GradScaler, an overflow in step 4, and unscaled by hand in step 6.
void show_scaled(std::ostream& out, int kind) {
  Training training{kind};
  GradScaler scaler{{.init_scale = 256, .growth_interval = 3}};
  for (int step = 1; step < 9; ++step) {
    training.backward(step, step == 4 ? kInf : scaler.get_scale());
    if (step == 6) scaler.unscale(*training.optimizer);
    CHECK(scaler.step(*training.optimizer) == (step != 4));
    scaler.update();
  }
  show(out, training);
  print(out, scaler.get_scale(), '\n');
}

void show_clipped(std::ostream& out, double norm_type) {
  Training training{0};
  training.backward(1);
  training.parameters.push_back(torch::zeros({3}, torch::kFloat64).requires_grad_());
  training.parameters.back().mutable_grad() = torch::ones({3}, torch::kFloat64);
  print(out, clip_grad_norm_(training.parameters, 0.5, norm_type).item<double>(), '\n');
  for (const torch::Tensor& parameter : training.parameters) show(out, parameter.grad());
}

TEST_CASE("fused steps, with checkpoints to and fro, scaled and clipped, are Python's to the bit") {
  const ScratchFolder folder;
  std::ostringstream ours;
  for (int kind = 0; kind < kKinds; ++kind) {
    Training training{kind};
    training.go_on(1, 5);
    save(training, folder / ("cpp" + std::to_string(kind)));
    training.go_on(5, 9);
    show(ours, training);
  }
  const std::string whole = ours.str();
  ours << whole;  // Python goes on from our checkpoints
  for (int kind = 0; kind < kKinds; ++kind) show_scaled(ours, kind);
  for (const double norm_type : {2.0, 1.0, kInf}) show_clipped(ours, norm_type);
  CHECK(ours.str() == python("FOLDER = \"" + folder.path().string() + "\"\n" + kPython));

  std::ostringstream from_python;
  for (int kind = 0; kind < kKinds; ++kind) {
    Training training{kind};
    load(training, folder / ("python" + std::to_string(kind)));
    training.go_on(5, 9);
    show(from_python, training);
  }
  CHECK(from_python.str() == whole);
}

TEST_CASE("a fused optimizer goes on from the state of LibTorch's, and the other way round") {
  Training fused{6};
  Training plain{6};
  plain.optimizer =
      plain.make<torch::optim::AdamW>(AdamWOptions{0.05}.weight_decay(0.2).amsgrad(true));
  fused.go_on(1, 3);
  plain.go_on(1, 3);
  const auto close = [&] {
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(torch::allclose(fused.parameters[i], plain.parameters[i], 1e-5, 1e-6));
  };
  close();
  // Each takes the state that the other one has saved; with LibTorch's own archives, too.
  const auto of_fused = optimizer_state(*fused.optimizer);
  CHECK(of_fused.at("0/step").scalar_type() == torch::kFloat32);
  CHECK(of_fused.at("0/step").item<float>() == 2);
  CHECK(of_fused.at("1/step").item<float>() == 1);  // it had no gradient in step 2
  torch::serialize::OutputArchive archive;
  fused.optimizer->save(archive);
  std::stringstream bytes;
  archive.save_to(bytes);
  restore_optimizer_state(*fused.optimizer, optimizer_state(*plain.optimizer));
  torch::serialize::InputArchive back;
  back.load_from(bytes);
  plain.optimizer->load(back);
  fused.go_on(3, 5);
  plain.go_on(3, 5);
  close();
  CHECK(optimizer_state(*fused.optimizer).at("0/step").item<float>() == 4);
  CHECK(optimizer_state(*plain.optimizer).at("0/step").item<float>() == 4);
}

/// A weight with the channels last after four steps; files have no strides.
torch::Tensor steps_with_channels_last(bool through_a_file) {
  torch::Tensor weight = torch::linspace(-1, 1, 2 * 3 * 2 * 2)
                             .view({2, 3, 2, 2})
                             .contiguous(torch::MemoryFormat::ChannelsLast);
  const auto options = AdamWOptions(0.05);
  auto optimizer = std::make_unique<FusedAdamW>(std::vector<torch::Tensor>{weight}, options);
  for (int step = 0; step < 4; ++step) {
    if (step == 2 && through_a_file) {
      auto state = optimizer_state(*optimizer);
      for (auto& [name, tensor] : state) tensor = tensor.contiguous();
      optimizer = std::make_unique<FusedAdamW>(std::vector<torch::Tensor>{weight}, options);
      restore_optimizer_state(*optimizer, state);
    }
    weight.mutable_grad() = torch::sin(weight.detach() * 3 + step);
    optimizer->step();
  }
  return weight;
}

TEST_CASE("state comes back with the strides of its parameter") {
  CHECK(torch::equal(steps_with_channels_last(true), steps_with_channels_last(false)));
}

TEST_CASE("what fused kernels cannot take is refused") {
  torch::Tensor sparse = torch::zeros({4, 2}).requires_grad_();
  sparse.mutable_grad() = torch::eye(4, 2).to_sparse();
  FusedSGD optimizer{std::vector{sparse}, SGDOptions{0.1}};
  CHECK_THROWS_WITH(optimizer.step(), contains("dense gradients"));
}

TEST_CASE("a norm that is no number is an error, if asked for; without gradients it is 0") {
  torch::Tensor parameter = torch::zeros({2}).requires_grad_();
  CHECK(clip_grad_norm_({parameter}, 1).item<float>() == 0);
  parameter.mutable_grad() = torch::full({2}, kInf);
  CHECK_THROWS_WITH(clip_grad_norm_({parameter}, 1, 2, true), contains("gradients is inf"));
  CHECK(std::isinf(clip_grad_norm_({parameter}, 1).item<float>()));
}

}  // namespace
}  // namespace ddprun::sdk
