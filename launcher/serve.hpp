// Commands that listen on a port until they are stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "launcher/command_line.hpp"
#include "launcher/subcommands.hpp"

namespace ddprun {

struct ListenOptions {
  std::string host;        // "": all addresses of this machine
  std::uint16_t port = 0;  // 0: any free one
  std::string port_file;   // where the port is written once it listens; "": nowhere
};

/// `about` and `port`: the command's own words for --help, and its usual port. Errors: kInvalid.
Result<std::variant<ListenOptions, JustPrint>> parse_listen_options(
    const std::string& name, const std::string& about, std::uint16_t port,
    const std::vector<std::string>& words);

/// What a command does with its address: begins to listen there, and returns the port.
using BeginToListen =
    std::function<Result<std::uint16_t>(const boost::asio::ip::address&, std::uint16_t)>;

/// Listens, says `listening on HOST:PORT` and serves until SIGTERM, SIGINT or SIGHUP. Returns 0.
Result<int> serve_until_stopped(const ListenOptions& options, const Stage& stage,
                                const BeginToListen& begin);

/// `ddprun server`: the coordinator of any job that comes.
Result<int> run_server(const std::vector<std::string>& words, const Stage& stage);

/// `ddprun store`: the worker store alone.
Result<int> run_store(const std::vector<std::string>& words, const Stage& stage);

}  // namespace ddprun
