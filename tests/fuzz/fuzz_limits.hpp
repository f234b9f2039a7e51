// Limits small enough that a fuzzer meets them.
#pragma once

#include "rendezvous/store/store_limits.hpp"

namespace ddprun {

inline constexpr StoreLimits kFuzzLimits{.key_bytes_max = 24,
                                         .value_bytes_max = 200,
                                         .keys_max = 12,
                                         .request_bytes_max = 600,
                                         .reply_bytes_max = 500,
                                         .memory_bytes_max = 6'000,
                                         .unread_bytes_max = 300,
                                         .unvalidated_max = 2};

}  // namespace ddprun
