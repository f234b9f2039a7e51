#include "agent/introspection/strain_watch.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <utility>

#include "base/machine/strain_reader.hpp"
#include "base/system/late_answer.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kQuestionsMax = 256;
constexpr std::size_t kProcessesMax = 4'096;
/// Workers are looked at together, and what they share is read once for all of them.
constexpr auto kShared = 500ms;
/// The kernel counts some of it in ticks of 10 ms, which a shorter time would drown in.
constexpr auto kPeriodMin = 500ms;

}  // namespace

/// It belongs to the thread.
struct StrainWatch::Shared {
  struct Reading {
    Strain strain;
    TimePoint at;
  };
  StrainReader reader;
  std::optional<TimePoint> refreshed;
  std::map<pid_t, Reading> last;

  std::optional<StrainRates> rates(pid_t pid) {
    const TimePoint now = Clock::now();
    if (!refreshed || now - *refreshed > kShared) {
      reader.refresh();
      refreshed = now;
    }
    const Reading reading{reader.read(pid), now};
    const auto before = last.find(pid);
    if (before == last.end()) {
      if (last.size() >= kProcessesMax) last.clear();
      last.emplace(pid, reading);
      return std::nullopt;
    }
    const auto period = reading.at - before->second.at;
    if (period < kPeriodMin) return std::nullopt;
    const Strain then = std::exchange(before->second, reading).strain;
    return strain_rates(then, reading.strain,
                        std::chrono::duration_cast<std::chrono::microseconds>(period));
  }
};

StrainWatch::StrainWatch() : shared_{std::make_shared<Shared>()}, queue_{kQuestionsMax} {}

asio::awaitable<std::optional<StrainRates>> StrainWatch::since_last_look(pid_t pid,
                                                                         TimePoint deadline) {
  using Rates = std::optional<StrainRates>;
  std::function<Rates()> ask = [shared = shared_, pid] { return shared->rates(pid); };
  const std::optional<Rates> rates = co_await late_answer(queue_, deadline, std::move(ask));
  co_return rates ? *rates : std::nullopt;
}

}  // namespace ddprun
