// Fuzzes the record of a node's failure, which every user may have written that can write to the
// shared folder, and the sentence about it.
#include <string>

#include "launcher/commands/nodes_text.hpp"
#include "tests/fuzz/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace ddprun;
  constexpr std::int64_t kNow = 1'764'230'400'000;
  const std::string text{reinterpret_cast<const char*>(data), size};
  is_node_file(text);
  const auto record = parse_node_record(text);
  if (!record) return 0;
  const std::string written = to_json(*record);
  require(written.size() <= kNodeRecordBytesMax);
  const auto again = parse_node_record(written);
  require(again.has_value() && to_json(*again) == written);
  const NodePolicy policy{.strikes = 1};
  const auto lines = lines_of_nodes({*record, *again}, policy, kNow);
  require(lines.size() == 1 && lines.front().failures == 2);
  for (const char c : nodes_text(lines, policy, "/shared", kNow))
    require(c == '\n' || static_cast<unsigned char>(c) >= ' ');
  nodes_json(lines, policy);
  return 0;
}
