// The launcher and the agent that it has started on a host talk over ssh. They exchange lines of
// JSON; the line of an output is followed by its bytes. Pure.
//
//     host> {"type":"hello","protocol":3,"version":"0.1.0"}
//     host< {"type":"start","arguments":["--max-restarts=3","--","train.py"],"leads":true,...}
//     host> {"type":"listening","host":"10.0.0.1","port":40123}
//     host> {"type":"output","stream":"out","bytes":6}
//           hello\n
//     host< {"type":"signal","signal":2}
//     host> {"type":"ended","code":130,"began":true,"verdict":false}
//
// Everything but the path of the remote command goes this way, so that no command line shows a
// secret. When the launcher's side ends, the agent stops.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace ddprun {

/// Both sides must speak the same version of the conversation.
inline constexpr int kHostProtocol = 3;
/// Limits the bytes of one output; longer ones are sent in pieces.
inline constexpr std::size_t kOutputBytesMax = 1024 * 1024;
/// Limits a line. It is long, because all arguments and variables are in one.
inline constexpr std::size_t kHostLineBytesMax = 4 * 1024 * 1024;
/// Limits what a login on a host may write before the agent says hello, such as greetings.
inline constexpr std::size_t kGreetingBytesMax = 256 * 1024;

// --- from a host ---

/// The agent is there.
struct HostHello {
  int protocol = kHostProtocol;
  std::string version;
  bool operator==(const HostHello&) const = default;
};
/// The coordinator is there, from the beginning or because it follows one that was lost: the other
/// hosts meet it at this address.
struct HostListening {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const HostListening&) const = default;
};
/// Workers, or ddprun itself, have written something.
struct HostOutput {
  /// kNote: a message of ddprun's own. kReport: a whole report of the job, as JobReport's to_json()
  /// makes it; one longer than kOutputBytesMax is not sent.
  enum class Stream { kOut, kErr, kNote, kReport };
  Stream stream = Stream::kOut;
  std::string text;
  bool operator==(const HostOutput&) const = default;
};
/// The agent ends. These are its last words.
struct HostEnded {
  int code = 0;
  bool began = false;    // the job has begun on this host
  bool verdict = false;  // the coordinator has sent how the job ended: the code is the job's
  bool operator==(const HostEnded&) const = default;
};
using FromHost = std::variant<HostHello, HostListening, HostOutput, HostEnded>;

// --- to a host ---

/// The agent is to run its part of the job.
struct HostStart {
  std::vector<std::string> arguments;              // a command line without options on the meeting
  std::map<std::string, std::string> environment;  // is added to what the login has set
  std::string directory;                           // where to work; "": where the login leads
  std::string run_id;
  int node_rank = 0;
  int nodes_min = 1;
  int nodes_max = 1;
  bool leads = false;      // this host runs the coordinator
  bool reports = false;    // it sends each report of the job
  std::string host;        // the coordinator's; "", for the leader: the address that ssh came to
  std::uint16_t port = 0;  // the coordinator's; 0, for the leader: any free one
  std::string secret;      // the job's, as text; "": it has none
  bool operator==(const HostStart&) const = default;
};
/// The user has sent a signal.
struct HostSignal {
  int signal = 0;
  bool operator==(const HostSignal&) const = default;
};
using ToHost = std::variant<HostStart, HostSignal>;

/// Returns the message as a line with its newline. Errors: kInvalid, for arguments and variables
/// that are not UTF-8, because JSON cannot hold them.
Result<std::string> encode(const ToHost& message);
/// Returns the message as a line with its newline, and behind that the bytes of an output.
std::string encode(const FromHost& message);

/// Reads a line of the launcher. Errors: kInvalid, with what is wrong in the line.
Result<ToHost> decode_to_host(std::string_view line);

/// Cuts what comes from a host into messages.
class HostReader {
 public:
  /// Returns the messages that are complete with `bytes`. What comes before the first is written by
  /// the login and is left out. Errors: kInvalid, when it is no conversation of ours; call it no
  /// more then.
  Result<std::vector<FromHost>> feed(std::string_view bytes);

 private:
  Result<bool> take_one(std::vector<FromHost>& messages);
  Result<bool> take_line(std::vector<FromHost>& messages);
  Result<bool> take_message(const nlohmann::json& in, std::vector<FromHost>& messages);

  std::string inbox_;
  std::size_t greeting_bytes_ = 0;
  bool greeted_ = false;
  HostOutput output_;             // the one whose bytes are still to come
  std::size_t output_bytes_ = 0;  // 0: a line is next
};

}  // namespace ddprun
