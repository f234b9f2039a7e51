#include "agent/workers/heartbeat_board.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/system/linux_calls.hpp"

namespace ddprun {

namespace {

std::size_t board_bytes(int workers) {
  return static_cast<std::size_t>(workers) * sizeof(sdk::HeartbeatSlot);
}

/// The number without decimals, as people write it: "1,234".
std::string with_commas(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

}  // namespace

Result<HeartbeatBoard> HeartbeatBoard::create(int workers) {
  const std::size_t bytes = board_bytes(workers);
  const int fd = memory_file("ddprun heartbeats", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  void* memory = MAP_FAILED;
  // It is sealed, because a worker that made it shorter would kill whoever reads it (SIGBUS).
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0 &&
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    memory = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (memory != MAP_FAILED)
    return HeartbeatBoard{fd, static_cast<sdk::HeartbeatSlot*>(memory), workers};
  const std::string reason = std::strerror(errno);
  if (fd >= 0) close(fd);
  return Error{Error::Kind::kUnavailable, "no memory for workers' heartbeats: " + reason};
}

HeartbeatBoard::HeartbeatBoard(int fd, sdk::HeartbeatSlot* slots, int workers)
    : fd_{fd}, slots_{slots}, workers_{workers} {}

HeartbeatBoard::HeartbeatBoard(HeartbeatBoard&& other) noexcept
    : fd_{std::exchange(other.fd_, -1)},
      slots_{std::exchange(other.slots_, nullptr)},
      workers_{std::exchange(other.workers_, 0)} {}

HeartbeatBoard& HeartbeatBoard::operator=(HeartbeatBoard&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(slots_, other.slots_);
  std::swap(workers_, other.workers_);
  return *this;
}

HeartbeatBoard::~HeartbeatBoard() {
  if (fd_ < 0) return;
  munmap(slots_, board_bytes(workers_));
  close(fd_);
}

std::string HeartbeatBoard::path() const { return fmt::format("/proc/{}/fd/{}", getpid(), fd_); }

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
