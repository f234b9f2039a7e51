#include "agent/workers/heartbeat_board.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/system/linux_calls.hpp"

namespace ddprun {

namespace {

/// The number without decimals, as people write it: "1,234".
std::string with_commas(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

}  // namespace

Result<HeartbeatBoard> HeartbeatBoard::create(int workers) {
  const std::size_t bytes = static_cast<std::size_t>(workers) * sizeof(sdk::HeartbeatSlot);
  Descriptor file{memory_file("ddprun heartbeats", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  void* memory = MAP_FAILED;
  // It is sealed: a worker that truncated it would kill its readers (SIGBUS).
  if (file.is_open() && ftruncate(file.number(), static_cast<off_t>(bytes)) == 0 &&
      fcntl(file.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (memory == MAP_FAILED)
    return Error{Error::Kind::kUnavailable,
                 std::string{"workers' heartbeats are not seen, as there is no memory to share "
                             "with them (memfd_create): "} +
                     std::strerror(errno)};
  Slots slots{static_cast<sdk::HeartbeatSlot*>(memory), Unmap{bytes}};
  HeartbeatBoard board{std::move(file), std::move(slots), workers};
  board.begin_round();
  return board;
}

void HeartbeatBoard::begin_round() {
  for (int i = 0; i < workers_; ++i) slots_[i].begin_round();
}

void HeartbeatBoard::Unmap::operator()(sdk::HeartbeatSlot* slots) const { munmap(slots, bytes); }

std::string HeartbeatBoard::path() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), file_.number());
}

std::optional<sdk::HeartbeatReading> HeartbeatBoard::read(int local_rank) const {
  if (local_rank < 0 || local_rank >= workers_) return std::nullopt;
  return slots_[local_rank].read();
}

std::string describe(const sdk::HeartbeatReading& reading, std::int64_t now_ns) {
  std::string text = fmt::format("step {}", reading.step);
  if (!std::isnan(reading.loss)) text += fmt::format(", loss {:.4g}", reading.loss);
  if (reading.samples_per_second > 0)
    text += fmt::format(", {} samples/s", with_commas(reading.samples_per_second));
  return text +
         fmt::format(", {:.1f} s before", 1e-9 * static_cast<double>(now_ns - reading.time_ns));
}

}  // namespace ddprun
