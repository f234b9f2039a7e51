// Requests to etcd, and its answers: JSON over HTTP, as its gateway has it
// (https://etcd.io/docs/v3.4/dev-guide/api_grpc_gateway). Keys and values are in base64, numbers of
// 64 bits are strings, and fields that are 0, false or empty are left out. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "rendezvous/etcd/etcd_requests.hpp"

namespace ddprun {

/// The names of a job's two keys.
struct EtcdKeys {
  std::string coordinator;
  std::string members;
};

/// Returns PREFIX/RUN_ID/coordinator and PREFIX/RUN_ID/members.
EtcdKeys keys_of(const std::string& prefix, const std::string& run_id);

/// A request of HTTP, whose method is POST.
struct EtcdPost {
  std::string path;
  std::string body;
};

/// `endpoint` is what TakeKey says of this process.
EtcdPost post_of(const EtcdRequest& request, const EtcdKeys& keys, const std::string& endpoint);

/// Reads what etcd has answered to `request`, with that status of HTTP. Errors: kInvalid, when it
/// is nothing that etcd says; kUnavailable, with what etcd says against it.
Result<EtcdAnswer> answer_of(const EtcdRequest& request, unsigned status, std::string_view body);

}  // namespace ddprun
