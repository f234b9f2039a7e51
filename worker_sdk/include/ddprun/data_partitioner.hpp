// DataPartitioner: a data set cut into random parts of given sizes.
//
// That of PyTorch's "Writing Distributed Applications with PyTorch"
// (https://docs.pytorch.org/tutorials/intermediate/dist_tuto.html), with the same parts for the
// same seed: its order is that of Python's random.Random(seed).shuffle
// (https://docs.python.org/3/library/random.html).
#pragma once

#include <cstdint>
#include <vector>

namespace ddprun::sdk {

class DataPartitioner {
 public:
  /// Part i holds the whole number below fractions[i] * data_set_size of samples. Errors:
  /// std::invalid_argument for a size below 1 or above 2^32 - 1, for no fractions, or for ones that
  /// are negative or add up to more than 1.
  explicit DataPartitioner(std::int64_t data_set_size,
                           const std::vector<double>& fractions = {0.7, 0.2, 0.1},
                           std::uint32_t seed = 1234);

  /// The samples of a part, usually that of the caller's rank. Errors: std::out_of_range.
  const std::vector<std::int64_t>& use(std::size_t part) const { return parts_.at(part); }

  std::size_t size() const { return parts_.size(); }

 private:
  std::vector<std::vector<std::int64_t>> parts_;
};

/// 0 to size - 1 in the order that Python's random.Random(seed).shuffle gives them. size: up to
/// 2^32 - 1.
std::vector<std::int64_t> python_shuffle(std::int64_t size, std::uint32_t seed);

}  // namespace ddprun::sdk
