#include "agent/reports/job_record.hpp"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "agent/introspection/nccl_ras.hpp"
#include "base/coroutines.hpp"
#include "base/log.hpp"

namespace ddprun {

void JobRecord::begin_round(const StartRound& round) {
  round_ = round;
  may_ask_nccl_ = round.first_rank == 0;
}

void JobRecord::hear(const CoordinatorMessage& message) {
  if (const auto* found = std::get_if<VerdictFound>(&message)) verdict_ = found->verdict;
  if (const auto* times = std::get_if<JobTimes>(&message)) times_ = *times;
  if (const auto* over = std::get_if<HangOver>(&message)) end_hang(over->lasted_ms);
  if (std::holds_alternative<StartRound>(message)) end_hang(-1);
  const auto* const found = std::get_if<HangFound>(&message);
  if (found == nullptr) return;
  if (!hang_) ++hangs_;
  keep_hang(found->report);
  if (concerns_nccl(found->report) && std::exchange(may_ask_nccl_, false))
    start_coroutine(executor_, ask_nccl(hangs_), report_failure("asking NCCL"));
}

void JobRecord::end_hang(std::int64_t lasted_ms) {
  if (!hang_) return;
  if (past_hangs_.size() == kPastHangsMax) past_hangs_.erase(past_hangs_.begin());
  past_hangs_.push_back({*hang_, lasted_ms});
  past_hangs_.back().hang.stacks.clear();
  keep_hang(std::nullopt);
}

void JobRecord::keep_hang(const std::optional<HangReport>& hang) {
  if (hang_ == hang) return;
  hang_ = hang;
  hang_changed_();
}

asio::awaitable<void> JobRecord::ask_nccl(int hang) {
  const char* const set = std::getenv(kRasVariable);
  const auto said =
      co_await ask_ras(ras_addresses(set != nullptr ? set : kRasDefault), kRasPatience);
  if (!said) {
    log::info("{}", said.error().message);
    co_return;
  }
  hear_nccl(hang, abridge_ras(*said));
}

void JobRecord::hear_nccl(int hang, std::vector<std::string> wrong) {
  if (!hang_ || hang != hangs_) return;
  log::warn("NCCL says of the hang:{}", wrong.empty() ? " nothing is wrong" : "");
  for (const std::string& line : wrong) log::warn("  {}", line);
  HangReport report = *hang_;
  report.nccl = std::move(wrong);
  keep_hang(std::move(report));
}

}  // namespace ddprun
