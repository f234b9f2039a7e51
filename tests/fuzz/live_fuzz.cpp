// Fuzzes what a running job reads of others to show itself: targets of HTTP requests, what a
// training posts, and what is read of another process's facts and status. The first byte chooses.
#include <algorithm>
#include <string>
#include <string_view>

#include "agent/control/trainer_status.hpp"
#include "launcher/live/job_choice.hpp"
#include "launcher/live/job_texts.hpp"
#include "live/http/http_text.hpp"
#include "live/jobs/job_facts.hpp"
#include "live/page/metrics.hpp"
#include "rendezvous/messages/job_status.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace ddprun;

bool gives_orders(std::string_view text) {
  return std::ranges::any_of(text,
                             [](unsigned char c) { return c < 0x20 && c != '\n' && c != '\t'; });
}

void check_target(std::string_view bytes) {
  const auto request = parse_target(bytes);
  if (request) require(request->path.starts_with('/') && request->query.size() <= 16);
  is_own_host(bytes, {"node7"});
}

/// What was read is written so that it is read as the same, and shown without orders to a terminal.
void check_status(std::string_view bytes) {
  const auto status = parse_job_status(bytes);
  if (!status) return;
  const std::string text = to_json(*status);
  require(text.size() <= kStatusBytesMax && !gives_orders(text));
  const auto again = parse_job_status(text);
  require(again.has_value() && to_json(*again) == text);
  require(!gives_orders(status_text(*status, {.columns = 40, .lines = 30})));
  require(metrics_text({*status}).ends_with("# EOF\n"));
}

void check_trainer(std::string_view bytes) {
  const auto status = parse_trainer_status(bytes);
  if (status) require(status->steps >= 0 && status->left_s >= -1 && status->step.value_or(0) >= 0);
}

void check_facts(std::string_view bytes) {
  const auto facts = parse_job_facts(bytes);
  if (!facts) return;
  require(!gives_orders(jobs_table({{job_names({*facts})[0], *facts, std::nullopt}}, 0, {})));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  if (bytes.empty()) return 0;
  const std::string_view rest = bytes.substr(1);
  if (bytes[0] == 'h') check_target(rest);
  if (bytes[0] == 's') check_status(rest);
  if (bytes[0] == 't') check_trainer(rest);
  if (bytes[0] == 'f') check_facts(rest);
  return 0;
}
