#include "launcher/run/facts_thread.hpp"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <exception>
#include <mutex>
#include <utility>

#include "base/log.hpp"

namespace ddprun {

namespace {

Error not_gathered(Error::Kind kind, const std::string& why) {
  return {kind, "its facts could not be gathered: " + why};
}

}  // namespace

/// The thread holds it, too. While the thread gathers, no lock is held.
struct FactsThread::Shared {
  Shared(asio::io_context& loop, Gather work) : gather{std::move(work)}, home{&loop} {}

  void run() {
    {
      const std::lock_guard lock{mutex};
      wanted = false;
    }
    Result<RunRecord> facts = gathered();
    const std::lock_guard lock{mutex};
    found = std::move(facts);
    if (home == nullptr || !found) return;
    asio::post(*home, [] { log::debug("gathered the facts of this run for its record"); });
  }

  Result<RunRecord> gathered() const try {
    return gather();
  } catch (const std::exception& failure) {
    return not_gathered(Error::Kind::kUnavailable, failure.what());
  }

  const Gather gather;
  std::mutex mutex;
  asio::io_context* home;  // null: the thread is left behind
  bool wanted = false;     // they are to be gathered, and that has not begun
  Result<RunRecord> found = not_gathered(Error::Kind::kUnavailable, "nobody has asked for them");
};

FactsThread::FactsThread(asio::io_context& home, Gather gather)
    : shared_{std::make_shared<Shared>(home, std::move(gather))} {}

/// The process may end before the thread: it must not log, and there is no `home` any more.
FactsThread::~FactsThread() {
  const std::lock_guard lock{shared_->mutex};
  shared_->home = nullptr;
}

void FactsThread::begin() {
  {
    const std::lock_guard lock{shared_->mutex};
    if (std::exchange(shared_->wanted, true)) return;
  }
  const auto added = queue_.add([shared = shared_] { shared->run(); });
  if (added) return;
  const std::lock_guard lock{shared_->mutex};
  shared_->wanted = false;
  shared_->found = not_gathered(added.error().kind, added.error().message);
}

Result<RunRecord> FactsThread::facts_within(std::chrono::milliseconds at_most) {
  if (!queue_.done_within(at_most))
    return not_gathered(Error::Kind::kTimeout,
                        fmt::format("no answer from a disk for {} ms", at_most.count()));
  const std::lock_guard lock{shared_->mutex};
  return shared_->found;
}

}  // namespace ddprun
