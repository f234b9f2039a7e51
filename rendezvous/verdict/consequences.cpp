#include "rendezvous/verdict/consequences.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "rendezvous/verdict/text_lines.hpp"

namespace ddprun {

namespace {

struct Row {
  Consequence what;
  std::string_view patterns;  // see matches_one()
};

// These look like a consequence, and are none.
constexpr std::string_view kOwnFaults{
    "address already in use|eaddrinuse|no space left on device|cannot allocate memory"};

using enum Consequence;

// The first one that fits counts.
constexpr std::array kRows{
    // A collective or the watchdog of NCCL that waited in vain.
    Row{kCollectiveTimedOut,
        "watchdog caught collective operation timeout|watchdog got stuck|"
        "collective operation timeout|some nccl operations have failed or timed out|"
        "to avoid data inconsistency, we are taking the entire process down|"
        "monitoredbarrier*failed to pass|failed to pass monitoredbarrier|monitored_barrier|"
        "caught collective operation|timed out waiting*for recv operation|"
        "timed out waiting*for send operation|timed out waiting*for unbound buffer|"
        "application timeout caused pair closure"},
    Row{kNcclLostRank,
        "ncclremoteerror|remote process exited or there was a network error|"
        "nccl*socket*connection closed|nccl communicator was aborted|nccl*connection reset|"
        "nccl*peer"},
    Row{kStoreTimedOut, "store*wait timeout after|wait timeout after*ms, keys"},
    Row{kStoreLost,
        "distnetworkerror|diststoreerror|tcpstore*failed|failed to recv, got 0 bytes|"
        "the client socket has|sendbytes failed|recvvalue failed"},
    Row{kConnectionRefused, "gloo connectfullmesh failed"},
    // Sockets, under whatever library.
    Row{kConnectionReset, "connection reset|connectionreseterror"},
    Row{kConnectionClosed,
        "closed by peer|connection closed by remote|connection was likely closed|"
        "connection aborted|connectionabortederror"},
    Row{kBrokenPipe, "broken pipe|brokenpipeerror"},
    Row{kConnectionRefused, "connection refused|connectionrefusederror"},
    Row{kConnectionReset, "gloo*read error"},
    Row{kBrokenPipe, "gloo*write error"},
    Row{kConnectionClosed, "gloo*socket closed"},
    Row{kConnectionTimedOut, "socket timeout"},
    Row{kNodeUnreachable, "no route to host|network is unreachable"},
    Row{kConnectionTimedOut, "connection timed out"},
};

}  // namespace

Consequence consequence_in(std::string_view text) {
  const std::string small = lower_case(text);
  if (matches_one(small, kOwnFaults)) return kNone;
  const auto* const found =
      std::ranges::find_if(kRows, [&](const Row& row) { return matches_one(small, row.patterns); });
  return found == kRows.end() ? kNone : found->what;
}

std::string_view text_of(Consequence consequence) {
  switch (consequence) {
    case kCollectiveTimedOut:
      return "a collective timed out";
    case kConnectionClosed:
      return "connection closed by peer";
    case kConnectionReset:
      return "connection reset";
    case kBrokenPipe:
      return "broken pipe";
    case kNcclLostRank:
      return "NCCL lost a rank";
    case kConnectionRefused:
      return "connection refused";
    case kConnectionTimedOut:
      return "a connection timed out";
    case kNodeUnreachable:
      return "lost a node";
    case kStoreLost:
      return "lost the store";
    case kStoreTimedOut:
      return "a wait in the store timed out";
    case kForeignSignal:
      return "ended by a signal that ddprun has not sent";
    case kNone:
      return "";
  }
  return "";
}

}  // namespace ddprun
