// Where an etcd is that decides who coordinates a job, and how one reaches it.
#pragma once

#include <string>
#include <vector>

#include "base/endpoint.hpp"

namespace ddprun {

struct EtcdPlace {
  std::vector<Endpoint> members;  // one etcd cluster, in the order in which they are tried
  bool tls = false;
  std::string ca_file;    // certificates to trust, as PEM; "": those that this machine trusts
  std::string cert_file;  // this client's certificate; "": none
  std::string key_file;   // and its key
  std::string prefix = "/ddprun";  // the keys are PREFIX/RUN_ID/...
  bool operator==(const EtcdPlace&) const = default;
};

/// Returns "etcd1:2379,etcd2:2379".
inline std::string text_of(const EtcdPlace& place) {
  std::string text;
  for (const Endpoint& member : place.members)
    text.append(text.empty() ? "" : ",").append(text_of(member));
  return text;
}

}  // namespace ddprun
