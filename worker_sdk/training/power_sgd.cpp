#include "worker_sdk/training/power_sgd.hpp"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace ddprun::sdk {

namespace {

using torch::Tensor;
using Tensors = std::vector<Tensor>;

void require(bool holds, const std::string& what) {
  if (!holds) throw std::invalid_argument{"PowerSGD: " + what};
}

/// Returns RandomState.randint(1'000'000'000) of NumPy.
std::uint64_t draw_seed(std::mt19937& generator) {
  constexpr std::uint32_t kMask = (1u << 30) - 1, kMax = 999'999'999;
  for (;;) {
    const auto number = static_cast<std::uint32_t>(generator()) & kMask;
    if (number <= kMax) return number;
  }
}

Tensor as_matrix(const Tensor& gradient) { return gradient.view({1, gradient.size(0), -1}); }

/// Gradients as they are averaged without compression.
c10::intrusive_ptr<c10::ivalue::Future> mean_over_ranks(const Tensor& buffer,
                                                        const ProcessGroup& group) {
  Tensors tensors{buffer.div_(group.size())};
  return group.c10d_group()->allreduce(tensors)->getFuture()->then(
      [buffer](c10::ivalue::Future& sum) -> c10::IValue {
        sum.value();  // throws what the sum has thrown
        return buffer;
      },
      c10::TensorType::get());
}

c10::intrusive_ptr<c10::ivalue::Future> done_with(const Tensor& buffer) {
  std::vector<c10::Device> devices;
  if (buffer.is_cuda()) devices.push_back(buffer.device());
  auto future = c10::make_intrusive<c10::ivalue::Future>(c10::TensorType::get(), devices);
  future->markCompleted(buffer);
  return future;
}

/// Columns of length 1 that are orthogonal to each other, by Gram and Schmidt.
void gram_schmidt(const Tensor& matrix, double epsilon) {
  const std::int64_t columns = matrix.size(2);
  for (std::int64_t i = 0; i < columns; ++i) {
    const Tensor column = matrix.narrow(2, i, 1);
    Tensor length = at::norm(column, 2, {1}, /*keepdim=*/true);
    if (epsilon != 0) length += epsilon;
    column.div_(length);
    if (i + 1 == columns) return;
    const Tensor rest = matrix.narrow(2, i + 1, columns - i - 1);
    rest.sub_(at::sum(column * rest, {1}, /*keepdim=*/true) * column);
  }
}

}  // namespace

PowerSgdHook::PowerSgdHook(const ProcessGroup& group, const PowerSgdOptions& options)
    : CppCommHookInterface{group}, options_{options}, seeds_{options.random_seed} {
  require(options.matrix_approximation_rank > 0, "matrix_approximation_rank is below 1");
  require(options.min_compression_rate > 0, "min_compression_rate is not above 0");
  require(options.orthogonalization_epsilon >= 0, "orthogonalization_epsilon is below 0");
  // DDP puts the parameters into other buckets after the first step.
  require(options.start_powerSGD_iter > 1 || !(options.use_error_feedback || options.warm_start),
          "start_powerSGD_iter is below 2, which use_error_feedback and warm_start need");
}

c10::intrusive_ptr<c10::ivalue::Future> PowerSgdHook::runHook(c10d::GradBucket& bucket) {
  const torch::NoGradGuard no_grad;
  const bool compresses = steps_ >= options_.start_powerSGD_iter;
  if (bucket.isLast()) ++steps_;
  if (!compresses) return mean_over_ranks(bucket.getBuffer(), state_);
  compress(bucket);
  return done_with(bucket.getBuffer());
}

/// Replaces the gradients by what all ranks can make of the factors.
void PowerSgdHook::compress(c10d::GradBucket& bucket) {
  Memory& memory = memories_[bucket.getIndex()];
  const Tensor buffer = bucket.getBuffer();
  Tensor wanted;
  if (options_.use_error_feedback) {
    if (memory.error.defined()) buffer.add_(memory.error);
    wanted = buffer.clone();
  }
  Tensors gradients = bucket.getGradients();
  const auto others = std::ranges::stable_partition(
      gradients, [&](const Tensor& gradient) { return should_compress(gradient); });
  const Tensors plain(others.begin(), others.end());
  gradients.erase(others.begin(), others.end());

  const bool is_fresh = !options_.warm_start || !memory.ps.defined();
  auto parts = make_factors(gradients, memory);
  begin_qs(parts, is_fresh);
  for (Compressed& part : parts) at::bmm_out(part.p, part.matrix, part.q);
  reduce_plainly(plain);
  approximate(parts, memory);
  // What has not been sent to the others comes along in the next step.
  if (options_.use_error_feedback) memory.error = wanted - buffer;
}

bool PowerSgdHook::should_compress(const Tensor& gradient) const {
  if (gradient.dim() == 0) return false;
  const std::int64_t rows = gradient.size(0), columns = gradient.numel() / rows;
  const auto sent = static_cast<double>((rows + columns) * rank_of(gradient));
  return sent * options_.min_compression_rate < static_cast<double>(gradient.numel());
}

std::int64_t PowerSgdHook::rank_of(const Tensor& gradient) const {
  const std::int64_t rows = gradient.size(0);
  return std::min({rows, gradient.numel() / rows, options_.matrix_approximation_rank});
}

/// Lays out the factors of a bucket side by side, so that they are summed at once.
std::vector<PowerSgdHook::Compressed> PowerSgdHook::make_factors(const Tensors& gradients,
                                                                 Memory& memory) {
  std::int64_t ps = 0, qs = 0;
  for (const Tensor& gradient : gradients) {
    ps += gradient.size(0) * rank_of(gradient);
    qs += gradient.numel() / gradient.size(0) * rank_of(gradient);
  }
  const auto options = gradients.empty() ? torch::TensorOptions{} : gradients.front().options();
  if (!memory.ps.defined()) {
    memory.ps = torch::empty({ps}, options);
    memory.qs = torch::empty({qs}, options);
  }
  std::vector<Compressed> parts;
  ps = qs = 0;
  for (const Tensor& gradient : gradients) {
    const Tensor matrix = as_matrix(gradient);
    const std::int64_t rows = matrix.size(1), columns = matrix.size(2), rank = rank_of(gradient);
    parts.push_back({matrix, memory.ps.narrow(0, ps, rows * rank).view({1, rows, rank}),
                     memory.qs.narrow(0, qs, columns * rank).view({1, columns, rank})});
    ps += rows * rank;
    qs += columns * rank;
  }
  return parts;
}

/// The Qs of the step before, or random ones, which are the same on all ranks.
void PowerSgdHook::begin_qs(std::vector<Compressed>& parts, bool is_fresh) {
  at::Generator random;
  if (is_fresh) random = at::detail::createCPUGenerator(draw_seed(seeds_));
  for (Compressed& part : parts) {
    if (is_fresh)
      part.q.copy_(at::randn(part.q.sizes(), random, torch::dtype(part.q.scalar_type())));
    orthogonalize(part.q);
  }
}

/// Sums P = MQ, makes it orthogonal, averages Q = MᵀP, and replaces M by PQᵀ.
void PowerSgdHook::approximate(std::vector<Compressed>& parts, const Memory& memory) {
  if (parts.empty()) return;
  state_.all_reduce(memory.ps);
  for (Compressed& part : parts) {
    orthogonalize(part.p);
    at::bmm_out(part.q, part.matrix.transpose(1, 2), part.p);
  }
  state_.all_reduce(memory.qs);
  memory.qs.div_(state_.size());
  for (Compressed& part : parts) at::bmm_out(part.matrix, part.p, part.q.transpose(1, 2));
}

/// Averages what is too small to be compressed.
void PowerSgdHook::reduce_plainly(const Tensors& gradients) const {
  if (gradients.empty()) return;
  Tensors flat;
  for (const Tensor& gradient : gradients) flat.push_back(gradient.view(-1));
  const Tensor all = torch::cat(flat);
  state_.all_reduce(all);
  all.div_(state_.size());
  std::int64_t at = 0;
  for (const Tensor& gradient : gradients) {
    gradient.copy_(all.narrow(0, at, gradient.numel()).view_as(gradient));
    at += gradient.numel();
  }
}

void PowerSgdHook::orthogonalize(Tensor& matrix) const {
  const bool is_half = c10::isReducedFloatingType(matrix.scalar_type());
  if (matrix.size(2) <= 2 || is_half)
    return gram_schmidt(matrix, options_.orthogonalization_epsilon);
  matrix.copy_(std::get<0>(at::linalg_qr(matrix)));
}

}  // namespace ddprun::sdk
