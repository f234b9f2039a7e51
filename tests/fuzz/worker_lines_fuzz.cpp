// Fuzzes what workers that can stay say to their agent, line by line, and what the agent answers.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "agent/control/worker_words.hpp"
#include "agent/decisions/staying_workers.hpp"
#include "base/match.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace ddprun;

constexpr int kWorkers = 3;

bool is_one_line(std::string_view text) {
  return text.ends_with('\n') && std::ranges::count(text, '\n') == 1 &&
         std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); });
}

/// Whatever a node's workers say, each of them is in one place.
void require_sense(StayingWorkers& workers) {
  require(!workers.all_can_stay() || workers.leave());
  require(!workers.have_left() || !workers.hold());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text{reinterpret_cast<const char*>(data), size};
  StayingWorkers workers{kWorkers};
  workers.begin_round(1);
  int speaker = 0;
  while (!text.empty()) {
    const std::string_view said = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(said.size() + 1, text.size()));
    const Result<WorkerLine> line = parse_worker_line(said);
    if (!line) {
      require(is_one_line(line.error().message + "\n"));
      continue;
    }
    match(
        *line,
        [&](const WorkerHello& hello) {
          speaker = hello.local_rank;
          workers.said({speaker, CanStay{hello.round}});
        },
        [&](const auto& word) {
          workers.said({speaker, word});
        });
    require_sense(workers);
  }
  const std::string value{reinterpret_cast<const char*>(data), size};
  require(is_one_line(enter_line(1, {{"NAME", value}})));
  return 0;
}
