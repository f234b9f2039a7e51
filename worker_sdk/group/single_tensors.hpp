#pragma once

#include <cstdint>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

namespace ddprun::sdk {

// Newer LibTorch has other names for the collectives whose ranks have one tensor each, and warns of
// the old ones. `Group` is c10d::ProcessGroup: a template leaves out what that does not have.

template <class Group>
auto gather_in_one(Group& group, at::Tensor& to, at::Tensor& from) {
  if constexpr (requires { group.all_gather_single(to, from); })
    return group.all_gather_single(to, from);
  else
    return group._allgather_base(to, from);
}

template <class Group>
auto scatter_from_one(Group& group, at::Tensor& to, at::Tensor& from,
                      const c10d::ReduceScatterOptions& options) {
  if constexpr (requires { group.reduce_scatter_single(to, from, options); })
    return group.reduce_scatter_single(to, from, options);
  else
    return group._reduce_scatter_base(to, from, options);
}

template <class Group>
auto exchange_in_one(Group& group, at::Tensor& to, at::Tensor& from,
                     std::vector<std::int64_t>& to_lengths,
                     std::vector<std::int64_t>& from_lengths) {
  if constexpr (requires { group.all_to_all_single(to, from, to_lengths, from_lengths); })
    return group.all_to_all_single(to, from, to_lengths, from_lengths);
  else
    return group.alltoall_base(to, from, to_lengths, from_lengths);
}

}  // namespace ddprun::sdk
