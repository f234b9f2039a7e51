// Values that are no tensors, sent between ranks as JSON: settings, metrics, names of files.
//
// These are the object collectives of torch.distributed
// (https://docs.pytorch.org/docs/stable/distributed.html#collective-functions), without their
// pickles: what arrives is data, never code. Values travel as CBOR (RFC 8949), so that numbers
// arrive as they are, NaN included. All ranks of the group call them in the same order. With NCCL
// the bytes go through the GPU. Errors: those of the collectives (process_group.hpp).
#pragma once

#include <ddprun/process_group.hpp>
#include <nlohmann/json.hpp>
#include <vector>

namespace ddprun::sdk {

/// Makes `object` on every rank equal to that of rank `root`.
void broadcast_object(const ProcessGroup& group, nlohmann::json& object, int root = 0);

/// Returns on every rank the objects of all of them: element i is rank i's.
std::vector<nlohmann::json> all_gather_object(const ProcessGroup& group,
                                              const nlohmann::json& object);

/// Returns on rank `root` the objects of all ranks, of which element i is rank i's; on the others
/// an empty list.
std::vector<nlohmann::json> gather_object(const ProcessGroup& group, const nlohmann::json& object,
                                          int root = 0);

/// Returns the element of rank `root`'s `objects` that has this rank's number. On the other ranks
/// `objects` is empty. Errors: std::invalid_argument on `root` when there is not one for each rank.
nlohmann::json scatter_object(const ProcessGroup& group, const std::vector<nlohmann::json>& objects,
                              int root = 0);

}  // namespace ddprun::sdk
