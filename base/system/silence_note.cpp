#include "base/system/silence_note.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "base/number_text.hpp"
#include "base/system/left_behind.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace {

/// The log belongs to the thread that waits.
void tell(const std::string& place) {
  const std::string text =
      fmt::format("ddprun: no answer for {} from '{}': {}\n", seconds_text(kTellSilenceAfter),
                  plain_line(place), kIsItThere);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

struct SilenceNote::Wait {
  std::string place;
  TimePoint told_at;
  bool told = false;
};

/// All that this process waits for. One thread looks at it, for to start one takes longer than most
/// answers do.
struct SilenceNote::Waits : std::enable_shared_from_this<Waits> {
  std::mutex mutex;
  std::list<Wait> list;
  bool has_thread = false;

  std::list<Wait>::iterator add(const std::string& place) {
    const std::lock_guard lock{mutex};
    const auto wait = list.insert(list.end(), {place, Clock::now() + kTellSilenceAfter});
    // If the system allows no thread, no note is printed.
    if (!has_thread)
      has_thread = start_left_behind([waits = shared_from_this()] { waits->watch(); }).has_value();
    return wait;
  }

  /// Until it finds nothing that is waited for. It has a table of files of its own: where threads
  /// share one, the kernel waits for all processors each time that the table grows.
  void watch() {
    unshare(CLONE_FILES);
    TimePoint next = Clock::now() + kTellSilenceAfter;
    do std::this_thread::sleep_until(next);
    while (look(next));
  }

  bool look(TimePoint& next) {
    const std::lock_guard lock{mutex};
    const TimePoint now = Clock::now();
    next = now + kTellSilenceAfter;
    for (Wait& wait : list) {
      if (!wait.told && wait.told_at <= now) {
        tell(wait.place);
        wait.told = true;
      }
      if (!wait.told) next = std::min(next, wait.told_at);
    }
    has_thread = !list.empty();
    return has_thread;
  }
};

SilenceNote::SilenceNote(const std::string& place) : waits_{all()}, wait_{waits_->add(place)} {}

SilenceNote::~SilenceNote() {
  const std::lock_guard lock{waits_->mutex};
  waits_->list.erase(wait_);
}

std::shared_ptr<SilenceNote::Waits> SilenceNote::all() {
  static const auto waits = std::make_shared<Waits>();
  return waits;
}

}  // namespace ddprun
