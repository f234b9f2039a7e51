// How nodes get parts of checkpoints from each other's memory (PartServer, PartClient): a Channel,
// over which the client sends a line for each file. The server answers with the file's bytes in
// frames, as those of a tunnel, and then with a line. The client compares the digest. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "rendezvous/messages/checkpoint_messages.hpp"

namespace ddprun {

/// A request, and an answer, have at most this many bytes.
inline constexpr std::size_t kPartLineBytesMax = 32 * 1024;

struct PartRequest {
  std::string ticket;  // as HeldCheckpoints has it
  int number = 0;      // as CheckpointPart has them
  int part = 0;
  int parts = 1;
  std::string file;  // the path of one in its list; "": the list itself
  bool operator==(const PartRequest&) const = default;
};

struct PartAnswer {
  std::int64_t bytes = 0;
  std::string error;  // "": all of them were sent
  bool operator==(const PartAnswer&) const = default;
};

/// A line with its newline.
std::string to_line(const PartRequest& request);
std::string to_line(const PartAnswer& answer);
/// Errors: kInvalid.
Result<PartRequest> read_part_request(std::string_view line);
Result<PartAnswer> read_part_answer(std::string_view line);

}  // namespace ddprun
