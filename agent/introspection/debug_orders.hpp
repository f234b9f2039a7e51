// Orders to the hook of a Python worker, for debuggers, and what it says when it waits for one:
// files of JSON, as debug_orders.py has them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "rendezvous/messages/inspect_messages.hpp"

namespace ddprun {

/// The worker stops, and lets a debugger in.
struct OpenDebugger {
  std::string socket;  // the path at which the command of the debugger's user listens
  int port = 0;        // an editor is let in there, by debugpy; 0: pdb speaks over the socket
};
/// The worker, which runs on in its debugger, stops again.
struct InterruptDebugged {};
/// The debugger's user has gone: the worker goes on without.
struct LeaveDebugger {};
/// Another rank is debugged, or none is any more: torch's process groups wait longer, or as before.
struct GroupTimeouts {
  bool extended = false;
};
using DebugOrder = std::variant<OpenDebugger, InterruptDebugged, LeaveDebugger, GroupTimeouts>;

/// "debug", "interrupt", "leave" or "timeouts": the ending of the order's file.
std::string kind_of(const DebugOrder& order);
/// What is in it.
std::string text_of(const DebugOrder& order);

/// What the file of a worker that waits says; nullopt: it is no such file. The rank is not in it.
std::optional<DebuggedRank> read_wait(std::string_view text);

}  // namespace ddprun
