// ControlServer: answers ddprun's questions about this process, as torch's WorkerServer does: how
// far its process groups are, and whether it waits in the store. The answers are those of torch's
// handlers (torch/csrc/distributed/c10d/control_plane/Handlers.hpp), over HTTP on a Unix socket:
//
//     POST /handler/fr_trace_json?NAME=VALUE HTTP/1.1
//
// WorkerServer itself cannot be used: its header includes httplib.h, which no wheel has.
#pragma once

#include <c10/core/Device.h>
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

namespace ddprun::sdk {

/// Opens the server of this process, once, where the agent has said in env::kIntrospection that it
/// wants one. It stays open until the process ends. Where it cannot be opened, the training goes on
/// without it. What this process starts does not find the variable any more.
void answer_ddprun() noexcept;

/// Says which GPU is this process's. The server's thread would begin with the first one, and CUDA
/// would make a context there, half a GB, as soon as it is asked how far NCCL is.
void answer_on(c10::Device gpu) noexcept;

class ControlServer {
 public:
  /// Listens at `socket`, which is not there yet. A thread of its own, which takes no signals,
  /// answers one question after the other. Errors: std::system_error; std::length_error when the
  /// path is too long for a socket.
  explicit ControlServer(std::filesystem::path socket);
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  /// Removes the socket when the question that is being answered has its answer. In a process that
  /// was forked meanwhile, which has neither thread nor socket, it does nothing.
  ~ControlServer();

 private:
  void serve() const;
  void answer(int connection) const;

  std::filesystem::path socket_;
  pid_t opened_by_;
  int listener_;
  int stop_;  // readable: the thread is to end
  std::unique_ptr<std::thread> thread_;
};

/// What answer_ddprun() does once; nullptr: the agent does not want a server. Errors: those of
/// ControlServer.
std::unique_ptr<ControlServer> open_wanted_server();

}  // namespace ddprun::sdk
