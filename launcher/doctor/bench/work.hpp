// The work whose time is measured. What counts is that it is the same everywhere, not that it is
// the fastest way to do it. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace ddprun {

/// A product of two square matrices of floats, which fit into the cache of a core.
class MatrixProduct {
 public:
  MatrixProduct();

  /// Computes the product once, and returns a value that depends on all of it.
  float compute();

 private:
  static constexpr std::size_t kSize = 96;  // the length of a side

  std::vector<float> a_, b_, c_;
};

/// The triad of the benchmark STREAM: a[i] = b[i] + factor * c[i]. The arrays do not overlap.
void triad(double* a, const double* b, const double* c, double factor, std::size_t count);

}  // namespace ddprun
