#include "agent/checkpoints/peer_parts.hpp"

#include <algorithm>
#include <utility>

#include "agent/checkpoints/memory_budget.hpp"
#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/number_text.hpp"
#include "base/system/late_answer.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kGatherTasksMax = 4;

}  // namespace

PeerParts::PeerParts(const asio::any_io_executor& executor, KeptFolder& kept, PeerTls tls)
    : executor_{executor},
      kept_{kept},
      tls_{std::move(tls)},
      gathering_{kGatherTasksMax, LeftBehindQueue::Files::kOwn},
      copying_{kGatherTasksMax, LeftBehindQueue::Files::kOwn} {}

void PeerParts::open() {
  auto server = PartServer::start(executor_, tls_.accepts);
  if (!server)
    return log::warn("this node's checkpoints are not copied to others: {}",
                     server.error().message);
  server_ = std::move(*server);
  offer();
}

void PeerParts::offer() {
  if (!server_) return;
  std::vector<PartServer::Offer> offers;
  for (const Snapshot& part : kept_.snapshots().all())
    offers.push_back({part, kept_.memory()->tier->files_of(part)});
  server_->offer(std::move(offers));
}

void PeerParts::describe(HeldCheckpoints& held) const {
  if (!kept_.has_memory()) return;
  held.room = room();
  if (!server_) return;
  held.port = server_->port();
  held.ticket = server_->ticket();
}

void PeerParts::copy(const CheckpointOrder& order, std::function<void(bool)> done) {
  next_ = Wanted{order.copies.front(), {order.number, order.removed}, std::move(done)};
  if (std::exchange(copies_, true)) return;
  start_coroutine(executor_, copy_all(), report_failure("copying checkpoints"));
}

/// How many bytes of other nodes' files fit beside the next save; negative: that does not fit.
std::int64_t PeerParts::room() const {
  const std::int64_t free = bytes_free(kept_.room());
  return std::max<std::int64_t>(free - bytes_of_save(&kept_.current()), -1);
}

SnapshotsHere PeerParts::here() const {
  return {.all = kept_.snapshots().all(), .current = kept_.current()};
}

void PeerParts::give_up_copies() {
  next_.reset();
  if (pace_) pace_->cancel();
}

asio::awaitable<void> PeerParts::copy_all() {
  while (next_) {
    const Wanted wanted = *std::exchange(next_, std::nullopt);
    auto copied = co_await copy_one(wanted);
    if (copied) {
      log::info("a copy of another node's {} ({}) is in memory", title_of(*copied),
                bytes_text(new_bytes(*copied)));
      kept_.snapshots().add_copy(std::move(*copied));
      const int number = wanted.removed.number;
      kept_.forget(kept_.snapshots().take_copies_if(
          [&](const Snapshot& copy) { return copy.number < number; }));
      offer();
    } else if (copied.error().kind != Error::Kind::kTimeout && !std::exchange(told_, true)) {
      log::warn("no copy of another node's checkpoint is kept here: {}", copied.error().message);
    }
    wanted.done(copied.has_value());
  }
  copies_ = false;
}

asio::awaitable<Result<Snapshot>> PeerParts::copy_one(const Wanted& wanted) {
  pace_ = std::make_shared<Pace>();
  const Givers givers{{wanted.source}, tls_.connects, 0};
  std::function<Gathered()> work = [memory = kept_.memory(), givers, here = here(),
                                    removed = wanted.removed, room = room(), pace = pace_] {
    return gather_copy(*memory->tier, givers, here, removed, room, *pace);
  };
  auto gathered = co_await late_answer(copying_, TimePoint::max(), std::move(work));
  if (!gathered) co_return Error{Error::Kind::kUnavailable, "no thread can be started"};
  co_return std::move(gathered->snapshot);
}

asio::awaitable<Result<void>> PeerParts::gather(std::vector<PartSource> sources, int node) {
  const Givers givers{std::move(sources), tls_.connects, node};
  std::function<Gathered()> work = [memory = kept_.memory(), givers, here = here()] {
    return gather_whole(*memory->tier, givers, here, memory->pace);
  };
  auto gathered = co_await late_answer(gathering_, TimePoint::max(), std::move(work));
  if (!gathered) co_return Error{Error::Kind::kUnavailable, "no thread can be started"};
  for (const std::string& complaint : gathered->complaints) log::warn("{}", complaint);
  if (!gathered->snapshot) co_return gathered->snapshot.error();
  kept_.snapshots().add_whole(std::move(*gathered->snapshot));
  co_return Result<void>{};
}

}  // namespace ddprun
