// The messages by which somebody on a node asks how the job is, and those that answer. Each is one
// of messages.hpp.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ddprun {

inline constexpr std::size_t kStatusPartBytesMax = 48 * 1024;

// --- agent to coordinator ---

/// Somebody on this node wants to know how the job is. The answer is a JobStatus in parts.
struct AskStatus {
  int question = 0;  // counts them
  bool operator==(const AskStatus&) const = default;
};
/// Somebody on this node wants to know what all workers of the job do. The answer is a JobDump in
/// parts.
struct AskDump {
  int question = 0;  // counts them
  bool operator==(const AskDump&) const = default;
};

// --- coordinator to agent ---

/// A piece of the answer to AskStatus: the JSON of a JobStatus, cut into pieces of at most
/// kStatusPartBytesMax, which come in their order.
struct StatusPart {
  int question = 0;
  std::string text;
  bool last = false;
  bool operator==(const StatusPart&) const = default;
};
/// A piece of the answer to AskDump: the JSON of a JobDump, cut as that of a JobStatus.
struct DumpPart {
  int question = 0;
  std::string text;
  bool last = false;
  bool operator==(const DumpPart&) const = default;
};
/// Cuts an answer of many bytes into pieces, which go out between other lines.
template <typename Part>
std::vector<Part> parts_of(const std::string& text, int question) {
  std::vector<Part> parts;
  for (std::size_t begin = 0; begin < text.size(); begin += kStatusPartBytesMax)
    parts.push_back({question, text.substr(begin, kStatusPartBytesMax), false});
  if (!parts.empty()) parts.back().last = true;
  return parts;
}

}  // namespace ddprun
