#include "launcher/doctor/bench/work.hpp"

#include <algorithm>

namespace ddprun {

MatrixProduct::MatrixProduct()
    : a_(kSize * kSize), b_(kSize * kSize, 0.5F), c_(kSize * kSize, 0.0F) {
  for (std::size_t i = 0; i < a_.size(); ++i) a_[i] = static_cast<float>(i % 7) / 8;
}

float MatrixProduct::compute() {
  std::ranges::fill(c_, 0.0F);
  for (std::size_t i = 0; i < kSize; ++i)
    for (std::size_t k = 0; k < kSize; ++k) {
      const float factor = a_[i * kSize + k];
      for (std::size_t j = 0; j < kSize; ++j) c_[i * kSize + j] += factor * b_[k * kSize + j];
    }
  // The next product depends on this one, so that no compiler can leave one out.
  b_[0] = c_.back() > 0 ? 0.5F : 0.25F;
  return c_.back();
}

void triad(double* __restrict a, const double* __restrict b, const double* __restrict c,
           double factor, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + factor * c[i];
}

}  // namespace ddprun
