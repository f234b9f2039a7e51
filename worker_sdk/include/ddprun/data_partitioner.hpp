// DataPartitioner: a data set cut into random parts of given sizes.
//
// It is the class of that name in PyTorch's "Writing Distributed Applications with PyTorch"
// (https://docs.pytorch.org/tutorials/intermediate/dist_tuto.html), and gives the same parts for
// the same seed, because it shuffles as Python's random.Random(seed).shuffle does
// (https://docs.python.org/3/library/random.html).
#pragma once

#include <cstdint>
#include <vector>

namespace ddprun::sdk {

/// Shuffles the samples once, at construction, and deals them out in parts.
class DataPartitioner {
 public:
  /// Part i holds fractions[i] * data_set_size samples, rounded down. Errors:
  /// std::invalid_argument for a size below 1 or above 2^32 - 1, for no fractions, or for ones that
  /// are negative or add up to more than 1.
  explicit DataPartitioner(std::int64_t data_set_size,
                           const std::vector<double>& fractions = {0.7, 0.2, 0.1},
                           std::uint32_t seed = 1234);

  /// The indices of the samples in a part, usually that of the caller's rank. Errors:
  /// std::out_of_range.
  const std::vector<std::int64_t>& use(std::size_t part) const { return parts_.at(part); }

  /// The number of parts.
  std::size_t size() const { return parts_.size(); }

 private:
  std::vector<std::vector<std::int64_t>> parts_;
};

/// Returns 0 to size - 1 in the order that Python's random.Random(seed).shuffle gives them. `size`
/// is 2^32 - 1 at most.
std::vector<std::int64_t> python_shuffle(std::int64_t size, std::uint32_t seed);

}  // namespace ddprun::sdk
