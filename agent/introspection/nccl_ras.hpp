// A client of the RAS service that NCCL 2.24 and later has in the processes of a job: lines over
// TCP, as in NCCL's own client (src/ras/client.cc):
//
//     CLIENT PROTOCOL 2     ->   SERVER PROTOCOL 2
//     TIMEOUT 2             ->   OK
//     VERBOSE STATUS        ->   a text, and the end of the connection
//
// Questions have crashed jobs in NCCL 2.26 and 2.27. So it is asked only once workers hang.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <string>

#include "agent/introspection/nccl_ras_text.hpp"
#include "base/asio.hpp"
#include "base/result.hpp"

namespace ddprun {

/// The variable that says where the service listens, and the address without it.
inline constexpr char kRasVariable[] = "NCCL_RAS_ADDR";
inline constexpr char kRasDefault[] = "localhost:28028";
/// Its own limit for what other processes of the job answer is 2 s then.
inline constexpr std::chrono::milliseconds kRasPatience{3'000};
inline constexpr std::size_t kRasBytesMax = 64 * 1024;

/// What the service at one of these addresses says of the job; what is beyond kRasBytesMax is cut.
/// Errors: kUnavailable: nothing answers there, or another service; kTimeout.
asio::awaitable<Result<std::string>> ask_ras(std::vector<RasAddress> addresses,
                                             std::chrono::milliseconds patience);

}  // namespace ddprun
