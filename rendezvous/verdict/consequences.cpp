#include "rendezvous/verdict/consequences.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "rendezvous/verdict/lower_case.hpp"

namespace ddprun {

namespace {

struct Pattern {
  std::string_view text;  // in small letters; '*' stands for anything
  std::string_view what;
};

// These look like a consequence, and are none.
constexpr std::array<std::string_view, 4> kOwnFaults{
    "address already in use",
    "eaddrinuse",
    "no space left on device",
    "cannot allocate memory",
};

// The first one that fits counts.
constexpr std::array kConsequences{
    // A collective or the watchdog of NCCL that waited in vain.
    Pattern{"watchdog caught collective operation timeout", kCollectiveTimedOut},
    Pattern{"watchdog got stuck", kCollectiveTimedOut},
    Pattern{"collective operation timeout", kCollectiveTimedOut},
    Pattern{"some nccl operations have failed or timed out", kCollectiveTimedOut},
    Pattern{"to avoid data inconsistency, we are taking the entire process down",
            kCollectiveTimedOut},
    Pattern{"monitoredbarrier*failed to pass", kCollectiveTimedOut},
    Pattern{"failed to pass monitoredbarrier", kCollectiveTimedOut},
    Pattern{"monitored_barrier*", kCollectiveTimedOut},
    Pattern{"caught collective operation", kCollectiveTimedOut},
    Pattern{"timed out waiting*for recv operation", kCollectiveTimedOut},
    Pattern{"timed out waiting*for send operation", kCollectiveTimedOut},
    Pattern{"timed out waiting*for unbound buffer", kCollectiveTimedOut},
    Pattern{"application timeout caused pair closure", kCollectiveTimedOut},
    // NCCL.
    Pattern{"ncclremoteerror", "NCCL lost a rank"},
    Pattern{"remote process exited or there was a network error", "NCCL lost a rank"},
    Pattern{"nccl*socket*connection closed", "NCCL lost a rank"},
    Pattern{"nccl communicator was aborted", "NCCL lost a rank"},
    Pattern{"nccl*connection reset", "NCCL lost a rank"},
    Pattern{"nccl*peer", "NCCL lost a rank"},
    // The store.
    Pattern{"distnetworkerror", "lost the store"},
    Pattern{"diststoreerror", "lost the store"},
    Pattern{"tcpstore*failed", "lost the store"},
    Pattern{"store*wait timeout after", "lost the store"},
    Pattern{"wait timeout after*ms, keys", "lost the store"},
    Pattern{"failed to recv, got 0 bytes", "lost the store"},
    Pattern{"the client socket has", "lost the store"},
    Pattern{"sendbytes failed", "lost the store"},
    Pattern{"recvvalue failed", "lost the store"},
    Pattern{"gloo connectfullmesh failed", "connection refused"},
    // Sockets, under whatever library.
    Pattern{"connection reset", "connection reset"},
    Pattern{"connectionreseterror", "connection reset"},
    Pattern{"connection closed by peer", "connection closed by peer"},
    Pattern{"closed by peer", "connection closed by peer"},
    Pattern{"connection closed by remote", "connection closed by peer"},
    Pattern{"connection was likely closed", "connection closed by peer"},
    Pattern{"connection aborted", "connection closed by peer"},
    Pattern{"connectionabortederror", "connection closed by peer"},
    Pattern{"broken pipe", "broken pipe"},
    Pattern{"brokenpipeerror", "broken pipe"},
    Pattern{"connection refused", "connection refused"},
    Pattern{"connectionrefusederror", "connection refused"},
    Pattern{"gloo*read error", "connection reset"},
    Pattern{"gloo*write error", "broken pipe"},
    Pattern{"gloo*socket closed", "connection closed by peer"},
    Pattern{"socket timeout", "a connection timed out"},
    Pattern{"no route to host", "lost a node"},
    Pattern{"network is unreachable", "lost a node"},
    Pattern{"connection timed out", "a connection timed out"},
};

}  // namespace

std::string_view consequence_in(std::string_view text) {
  const std::string small = lower_case(text);
  const auto fits = [&](std::string_view pattern) { return matches(small, pattern); };
  if (std::ranges::any_of(kOwnFaults, fits)) return "";
  const auto* const found =
      std::ranges::find_if(kConsequences, [&](const Pattern& each) { return fits(each.text); });
  return found == kConsequences.end() ? "" : found->what;
}

}  // namespace ddprun
