#include "base/system/silence_note.hpp"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/printable.hpp"
#include "base/system/left_behind.hpp"

namespace ddprun {

namespace {

constexpr std::chrono::seconds kTellAfter{5};

}  // namespace

struct SilenceNote::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool answered = false;

  /// The log belongs to the thread that waits.
  void tell(const std::string& place) {
    std::unique_lock lock{mutex};
    if (changed.wait_for(lock, kTellAfter, [this] { return answered; })) return;
    const std::string text = "ddprun: no answer for 5 s from '" + plain_line(place) +
                             "': is its disk or its server there?\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  }
};

/// Where the system allows no thread, nothing is told.
SilenceNote::SilenceNote(const std::string& place) : shared_{std::make_shared<Shared>()} {
  (void)start_left_behind([shared = shared_, place] { shared->tell(place); });
}

SilenceNote::~SilenceNote() {
  const std::lock_guard lock{shared_->mutex};
  shared_->answered = true;
  shared_->changed.notify_all();
}

}  // namespace ddprun
