// A client of torch's worker server: HTTP over a Unix socket (see
// torch/csrc/distributed/c10d/control_plane/WorkerServer.hpp).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>

#include "base/asio.hpp"
#include "base/result.hpp"

namespace ddprun {

/// A flight recorder of 2,000 entries makes an answer of one megabyte.
inline constexpr std::size_t kAnswerBytesMax = 16 * 1024 * 1024;

/// Runs the handler `name`, "fr_trace_json" or "ping", in the worker whose server listens there,
/// and returns its answer. Errors: kNotFound: there is no such handler; kTimeout: no answer within
/// `patience`; kUnavailable: no process listens, or it is no such server.
asio::awaitable<Result<std::string>> ask_worker(std::filesystem::path socket, std::string name,
                                                std::chrono::milliseconds patience);

}  // namespace ddprun
