#include "ddprun/data_partitioner.hpp"

#include <bit>
#include <cstddef>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

namespace ddprun::sdk {

namespace {

/// How far fractions may miss 1 that are meant to add up to it.
constexpr double kRounding = 1e-9;

/// A seed sequence ([rand.req.seedseq]) that gives std::mt19937 the state which Python gives its
/// own Mersenne Twister. It is init_by_array() of that generator's authors for an array of one
/// number (http://www.math.sci.hiroshima-u.ac.jp/m-mat/MT/MT2002/emt19937ar.html).
class PythonSeed {
 public:
  using result_type = std::uint32_t;

  explicit PythonSeed(std::uint32_t seed) : seed_{seed} {}

  template <typename Iterator>
  void generate(Iterator begin, Iterator end) const {
    const auto n = static_cast<std::size_t>(end - begin);
    begin[0] = 19650218U;
    for (std::size_t i = 1; i < n; ++i)
      begin[i] = static_cast<result_type>(1812433253U * mixed(begin[i - 1]) + i);
    std::size_t i = 1;
    const auto advance = [&] {
      if (++i < n) return;
      begin[0] = begin[n - 1];
      i = 1;
    };
    for (std::size_t k = 0; k < n; ++k, advance())
      begin[i] = (begin[i] ^ mixed(begin[i - 1]) * 1664525U) + seed_;
    for (std::size_t k = 0; k < n - 1; ++k, advance())
      begin[i] = (begin[i] ^ mixed(begin[i - 1]) * 1566083941U) - static_cast<result_type>(i);
    begin[0] = 0x80000000U;
  }

 private:
  static result_type mixed(result_type word) { return word ^ (word >> 30); }

  result_type seed_;
};

/// Draws a number below `limit` as Python does: as many bits as the limit has, again and again
/// until they are below it.
std::uint32_t below(std::uint32_t limit, std::mt19937& random) {
  const int bits = std::bit_width(limit);
  for (;;) {
    const auto drawn = static_cast<std::uint32_t>(random() >> (32 - bits));
    if (drawn < limit) return drawn;
  }
}

void check(std::int64_t size, const std::vector<double>& fractions) {
  if (size < 1 || size > std::numeric_limits<std::uint32_t>::max())
    throw std::invalid_argument{"DataPartitioner: a data set of " + std::to_string(size) +
                                " samples, expected 1 to 4294967295"};
  double sum = 0;
  for (const double fraction : fractions) {
    if (!(fraction >= 0))
      throw std::invalid_argument{"DataPartitioner: a fraction of " + std::to_string(fraction) +
                                  ", expected 0 to 1"};
    sum += fraction;
  }
  if (fractions.empty() || sum > 1 + kRounding)
    throw std::invalid_argument{"DataPartitioner: fractions that add up to " + std::to_string(sum) +
                                ", expected at least one, and 1 at most"};
}

}  // namespace

std::vector<std::int64_t> python_shuffle(std::int64_t size, std::uint32_t seed) {
  std::vector<std::int64_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  PythonSeed sequence{seed};
  std::mt19937 random{sequence};
  for (std::int64_t i = size - 1; i > 0; --i)
    std::swap(order[i], order[below(static_cast<std::uint32_t>(i + 1), random)]);
  return order;
}

DataPartitioner::DataPartitioner(std::int64_t data_set_size, const std::vector<double>& fractions,
                                 std::uint32_t seed) {
  check(data_set_size, fractions);
  const std::vector<std::int64_t> order = python_shuffle(data_set_size, seed);
  auto next = order.begin();
  for (const double fraction : fractions) {
    const auto wanted = static_cast<std::int64_t>(fraction * static_cast<double>(data_set_size));
    const auto count = std::min<std::int64_t>(wanted, order.end() - next);
    parts_.emplace_back(next, next + count);
    next += count;
  }
}

}  // namespace ddprun::sdk
