#include "ddprun/pipeline.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace ddprun::sdk {

namespace {

/// A stage tells the next one, before the first part of a batch, this many numbers: dtype, number
/// of dimensions, and sizes.
constexpr std::int64_t kShapeNumbers = 10;
constexpr std::int64_t kDimensionsMax = kShapeNumbers - 2;

torch::Tensor shape_message(const torch::Tensor& output) {
  if (output.dim() > kDimensionsMax)
    throw std::invalid_argument{"Pipeline: a stage returned a tensor of " +
                                std::to_string(output.dim()) + " dimensions, expected " +
                                std::to_string(kDimensionsMax) + " at most"};
  torch::Tensor message = torch::zeros({kShapeNumbers}, torch::kInt64);
  auto* numbers = message.mutable_data_ptr<std::int64_t>();
  numbers[0] = static_cast<std::int64_t>(output.scalar_type());
  numbers[1] = output.dim();
  std::copy(output.sizes().begin(), output.sizes().end(), numbers + 2);
  return message;
}

torch::Tensor tensor_of_shape(const torch::Tensor& message, torch::Device device) {
  const auto* numbers = message.const_data_ptr<std::int64_t>();
  return torch::empty(torch::IntArrayRef{numbers + 2, static_cast<std::size_t>(numbers[1])},
                      torch::dtype(static_cast<torch::ScalarType>(numbers[0])).device(device));
}

}  // namespace

Pipeline::Pipeline(Stage stage, const ProcessGroup& group, const PipelineOptions& options)
    : stage_{std::move(stage)},
      group_{group},
      micro_batches_{static_cast<std::size_t>(options.micro_batches)} {
  if (options.micro_batches < 1)
    throw std::invalid_argument{"Pipeline: " + std::to_string(options.micro_batches) +
                                " micro-batches, expected 1 or more"};
}

torch::Tensor Pipeline::step(const torch::Tensor& input, const torch::Tensor& target,
                             const Loss& loss) {
  const auto targets = is_last() ? parts(target, "target") : std::vector<torch::Tensor>{};
  const std::vector<torch::Tensor> in = inputs(input);
  std::vector<torch::Tensor> out = run_forward(in);
  torch::Tensor mean;
  if (is_last()) {
    mean = torch::zeros({}, torch::dtype(torch::kFloat32).device(group_.device()));
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = loss(out[i], targets[i]) / static_cast<double>(micro_batches_);
      mean += out[i].detach();
    }
  }
  run_backward(in, out);
  finish_sends();
  return mean;
}

torch::Tensor Pipeline::forward(const torch::Tensor& input) {
  torch::NoGradGuard no_grad;
  const std::vector<torch::Tensor> out = run_forward(inputs(input));
  finish_sends();
  return is_last() ? torch::cat(out) : torch::Tensor{};
}

std::vector<torch::Tensor> Pipeline::inputs(const torch::Tensor& input) {
  if (is_first()) return parts(input, "input");
  receive_shape();
  return arriving_;
}

std::vector<torch::Tensor> Pipeline::parts(const torch::Tensor& batch, const char* name) const {
  const std::string what = std::string{"Pipeline: the "} + name;
  if (!batch.defined() || batch.dim() == 0 || batch.size(0) == 0)
    throw std::invalid_argument{what + " is missing or empty, expected [N, ...]"};
  if (batch.size(0) % static_cast<std::int64_t>(micro_batches_) != 0)
    throw std::invalid_argument{
        what + " has " + std::to_string(batch.size(0)) + " rows, which cannot be cut into " +
        std::to_string(micro_batches_) +
        " equal micro-batches; change the batch size, or drop the last one"};
  return batch.chunk(static_cast<std::int64_t>(micro_batches_));
}

/// Learns the shape of this batch's inputs, and then asks for all of them at once, so that they
/// arrive while this stage computes.
void Pipeline::receive_shape() {
  const torch::Tensor message =
      torch::zeros({kShapeNumbers}, torch::dtype(torch::kInt64).device(group_.device()));
  group_.recv(message, group_.rank() - 1);
  const torch::Tensor shape = message.cpu();
  arriving_.clear();
  arrivals_.clear();
  for (std::size_t i = 0; i < micro_batches_; ++i) {
    arriving_.push_back(tensor_of_shape(shape, group_.device()));
    arrivals_.push_back(group_.irecv(arriving_.back(), group_.rank() - 1));
  }
}

torch::Tensor Pipeline::next_input(std::size_t part) {
  arrivals_[part].wait();
  return arriving_[part].requires_grad_(torch::GradMode::is_enabled());
}

std::vector<torch::Tensor> Pipeline::run_forward(const std::vector<torch::Tensor>& inputs) {
  std::vector<torch::Tensor> outputs;
  for (std::size_t i = 0; i < micro_batches_; ++i) {
    outputs.push_back(stage_.forward(is_first() ? inputs[i] : next_input(i)));
    if (!is_last()) hand_on(outputs.back(), i == 0);
  }
  return outputs;
}

void Pipeline::hand_on(const torch::Tensor& output, bool is_first_part) {
  const int next = group_.rank() + 1;
  if (is_first_part)
    sends_.push_back(group_.isend(shape_message(output).to(group_.device()), next));
  sends_.push_back(group_.isend(output.detach().contiguous(), next));
}

void Pipeline::run_backward(const std::vector<torch::Tensor>& inputs,
                            const std::vector<torch::Tensor>& outputs) {
  std::vector<torch::Tensor> gradients(micro_batches_);
  std::vector<Work> arrivals;
  for (std::size_t i = 0; i < micro_batches_ && !is_last(); ++i) {
    gradients[i] = torch::empty_like(outputs[i], torch::MemoryFormat::Contiguous);
    arrivals.push_back(group_.irecv(gradients[i], group_.rank() + 1));
  }
  for (std::size_t i = 0; i < micro_batches_; ++i) {
    if (i + 1 == micro_batches_) stage_.before_last_backward();
    if (!is_last()) arrivals[i].wait();
    outputs[i].backward(gradients[i]);
    if (!is_first())
      sends_.push_back(group_.isend(inputs[i].grad().contiguous(), group_.rank() - 1));
  }
}

void Pipeline::finish_sends() { wait_all(std::exchange(sends_, {})); }

}  // namespace ddprun::sdk
