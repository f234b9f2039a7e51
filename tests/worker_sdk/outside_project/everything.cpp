// The umbrella header compiles, and what is in it links.
#include <ddprun/sdk.hpp>

std::int64_t samples_of_first_rank() { return ddprun::sdk::DistributedSampler{10, 2, 0}.size(); }
