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
  job_.round = round;
  may_ask_nccl_ = round.first_rank == 0;
  const auto news = std::exchange(put_back_, std::nullopt);
  if (!news || news->name.empty()) return;
  ++job_.put_back;
  if (job_.continued.size() == kRestartsToldMax) job_.continued.erase(job_.continued.begin());
  job_.continued.push_back({round.round, news->name, news->bytes_from_disk, news->failing});
}

void JobRecord::hear(const CheckpointNews& news) {
  if (news.what == CheckpointNews::What::kPutBack) put_back_ = news;
}

void JobRecord::hear(const CoordinatorMessage& message) {
  if (const auto* found = std::get_if<VerdictFound>(&message)) job_.verdict = found->verdict;
  if (const auto* times = std::get_if<JobTimes>(&message)) job_.times = *times;
  if (const auto* over = std::get_if<HangOver>(&message)) end_hang(over->lasted_ms);
  if (std::holds_alternative<StartRound>(message)) end_hang(-1);
  const auto* const found = std::get_if<HangFound>(&message);
  if (found == nullptr) return;
  if (!job_.hang) ++hangs_;
  keep_hang(found->report);
  if (concerns_nccl(found->report) && std::exchange(may_ask_nccl_, false))
    start_coroutine(executor_, ask_nccl(hangs_), report_failure("asking NCCL"));
}

void JobRecord::end_hang(std::int64_t lasted_ms) {
  if (!job_.hang) return;
  if (job_.past_hangs.size() == kPastHangsMax) job_.past_hangs.erase(job_.past_hangs.begin());
  job_.past_hangs.push_back({*job_.hang, lasted_ms});
  job_.past_hangs.back().hang.stacks.clear();
  keep_hang(std::nullopt);
}

void JobRecord::keep_hang(const std::optional<HangReport>& hang) {
  if (job_.hang == hang) return;
  job_.hang = hang;
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
  if (!job_.hang || hang != hangs_) return;
  log::warn("NCCL says of the hang:{}", wrong.empty() ? " nothing is wrong" : "");
  for (const std::string& line : wrong) log::warn("  {}", line);
  HangReport report = *job_.hang;
  report.nccl = std::move(wrong);
  keep_hang(std::move(report));
}

}  // namespace ddprun
