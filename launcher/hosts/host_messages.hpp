// What the launcher and the agent that it has started on a host say to each other, over ssh: lines
// of JSON, and behind the line of an output its bytes. Pure.
//
//     host> {"type":"hello","protocol":1,"version":"0.1.0"}
//     host< {"type":"start","arguments":["--max-restarts=3","--","train.py"],"leads":true,...}
//     host> {"type":"listening","host":"10.0.0.1","port":40123}
//     host> {"type":"output","stream":"out","bytes":6}
//           hello\n
//     host< {"type":"signal","signal":2}
//     host> {"type":"ended","code":130,"began":true,"verdict":false}
//
// All but the remote command's path goes this way, so that no command line shows a secret. The end
// of the launcher's side is an order to stop.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace ddprun {

inline constexpr int kHostProtocol = 1;
/// Of one output; longer ones are sent in pieces.
inline constexpr std::size_t kOutputBytesMax = 1024 * 1024;
/// Of a line: arguments and environment are in one.
inline constexpr std::size_t kHostLineBytesMax = 4 * 1024 * 1024;
/// What a login on a host may write (a shell's greetings) before the agent says hello.
inline constexpr std::size_t kGreetingBytesMax = 256 * 1024;

// --- from a host ---

struct HostHello {
  int protocol = kHostProtocol;
  std::string version;
  bool operator==(const HostHello&) const = default;
};
/// The coordinator is there: the other hosts meet it at this address.
struct HostListening {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const HostListening&) const = default;
};
struct HostOutput {
  enum class Stream { kOut, kErr, kNote };  // kNote: a message of ddprun's own
  Stream stream = Stream::kOut;
  std::string text;
  bool operator==(const HostOutput&) const = default;
};
/// The agent's last words.
struct HostEnded {
  int code = 0;
  bool began = false;    // its agent has run
  bool verdict = false;  // and was told how the job ended: the code is the job's
  bool operator==(const HostEnded&) const = default;
};
using FromHost = std::variant<HostHello, HostListening, HostOutput, HostEnded>;

// --- to a host ---

struct HostStart {
  std::vector<std::string> arguments;              // as a command line, without the nodes' part
  std::map<std::string, std::string> environment;  // beside what the login has set
  std::string directory;                           // where it runs; "": where the login leads
  std::string run_id;
  int node_rank = 0;
  int nodes_min = 1;
  int nodes_max = 1;
  bool leads = false;      // it hosts the coordinator
  std::string host;        // where the coordinator is; "" for the one who leads: as ssh came to it
  std::uint16_t port = 0;  // 0 for the one who leads: any free one
  bool operator==(const HostStart&) const = default;
};
struct HostSignal {
  int signal = 0;
  bool operator==(const HostSignal&) const = default;
};
using ToHost = std::variant<HostStart, HostSignal>;

/// With its newline and, of an output, its bytes. Errors: kInvalid, for text that is not UTF-8, in
/// which alone arguments and variables can be handed over.
Result<std::string> encode(const ToHost& message);
std::string encode(const FromHost& message);

/// Errors: kInvalid, with what is wrong in the line.
Result<ToHost> decode_to_host(std::string_view line);

/// Cuts what comes from a host into messages.
class HostReader {
 public:
  /// The messages that are complete with `bytes`. What comes before the first is the login's and
  /// ignored. Errors: kInvalid, when it is no conversation of ours; then nothing more is read.
  Result<std::vector<FromHost>> feed(std::string_view bytes);

 private:
  Result<bool> take_one(std::vector<FromHost>& messages);
  Result<bool> take_line(std::vector<FromHost>& messages);

  std::string inbox_;
  std::size_t greeting_bytes_ = 0;
  bool greeted_ = false;
  HostOutput output_;             // the one whose bytes are still to come
  std::size_t output_bytes_ = 0;  // 0: a line is next
};

}  // namespace ddprun
