// Values between ranks that are no tensors, as JSON: settings, metrics, names of files.
//
// The object collectives of torch.distributed
// (https://docs.pytorch.org/docs/stable/distributed.html#collective-functions), without their
// pickles: what arrives is data, never code. Values travel as CBOR, so that numbers arrive as they
// are, NaN included. All ranks of the group call them in the same order. With NCCL the bytes go
// through the GPU. Errors: those of the collectives (process_group.hpp).
#pragma once

#include <ddprun/process_group.hpp>
#include <nlohmann/json.hpp>
#include <vector>

namespace ddprun::sdk {

/// Everybody's `object` becomes that of rank `root`.
void broadcast_object(const ProcessGroup& group, nlohmann::json& object, int root = 0);

/// [i] is rank i's `object`.
std::vector<nlohmann::json> all_gather_object(const ProcessGroup& group,
                                              const nlohmann::json& object);

/// On rank `root`, [i] is rank i's `object`; on the others nothing.
std::vector<nlohmann::json> gather_object(const ProcessGroup& group, const nlohmann::json& object,
                                          int root = 0);

/// Rank `root`'s objects[group.rank()]; on the others `objects` is empty. Errors:
/// std::invalid_argument on `root` when there is not one for each rank.
nlohmann::json scatter_object(const ProcessGroup& group, const std::vector<nlohmann::json>& objects,
                              int root = 0);

}  // namespace ddprun::sdk
