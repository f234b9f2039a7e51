#include "ddprun/data_loader.hpp"

#include <stdexcept>
#include <string>

namespace ddprun::sdk {

void check_options(const LoaderOptions& options, bool tensors_known) {
  if (options.batch_size < 1 || options.workers < 0 || options.prefetch < 1)
    throw std::invalid_argument{"DataLoader: batch size " + std::to_string(options.batch_size) +
                                ", " + std::to_string(options.workers) + " workers, " +
                                std::to_string(options.prefetch) +
                                " batches ahead; expected at least 1, 0 and 1"};
  if (options.pin_memory && !tensors_known)
    throw std::invalid_argument{
        "DataLoader: pin_memory needs to know the tensors of a batch: give its type a member "
        "for_each_tensor(), see batch_tensors.hpp"};
}

std::int64_t count_batches(std::int64_t samples, const LoaderOptions& options) {
  const std::int64_t whole = samples / options.batch_size;
  return !options.drop_last && samples % options.batch_size != 0 ? whole + 1 : whole;
}

}  // namespace ddprun::sdk
