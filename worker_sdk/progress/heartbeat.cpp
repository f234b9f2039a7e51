#include "ddprun/heartbeat.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "ddprun/worker_env.hpp"
#include "worker_sdk/contract/heartbeat_slot.hpp"
#include "worker_sdk/progress/counted_step.hpp"

namespace ddprun::sdk {

namespace {

constexpr std::int64_t kWindowNs = 1'000'000'000;

std::atomic<bool> program_beats{false};

std::optional<std::string> variable() {
  const char* value = std::getenv(env::kHeartbeat);
  return value ? std::optional<std::string>{value} : std::nullopt;
}

std::size_t file_bytes(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

}  // namespace

Heartbeat::Heartbeat() : Heartbeat{variable()} {}

Heartbeat::Heartbeat(const std::optional<std::string>& address) {
  const auto place = address ? parse_heartbeat_address(*address) : std::nullopt;
  if (!place) return;
  const int fd = open(place->path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  const std::size_t bytes = file_bytes(fd);
  if (place->slot < bytes / sizeof(HeartbeatSlot)) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) {
      memory_ = memory;
      memory_bytes_ = bytes;
      slot_ = static_cast<HeartbeatSlot*>(memory) + place->slot;
    }
  }
  close(fd);
}

Heartbeat::~Heartbeat() {
  if (memory_ != nullptr) munmap(memory_, memory_bytes_);
}

void Heartbeat::beat(std::int64_t step, std::int64_t samples, double loss) {
  program_beats.store(true, std::memory_order_relaxed);
  if (slot_ != nullptr) beat_at(monotonic_ns(), step, samples, loss);
}

void Heartbeat::beat_at(std::int64_t now_ns, std::int64_t step, std::int64_t samples, double loss) {
  if (slot_ == nullptr) return;
  update_rate(now_ns, samples);
  slot_->write({step, loss, samples_per_second_, now_ns, total_steps_});
}

/// The rate is the mean over the last full window of time. Before there is one, it is the mean over
/// the time since the first heartbeat: it is unknown how long the step before that one took.
void Heartbeat::update_rate(std::int64_t now_ns, std::int64_t samples) {
  if (!window_begin_ns_) {
    window_begin_ns_ = now_ns;
    return;
  }
  window_samples_ += samples;
  const std::int64_t took_ns = now_ns - *window_begin_ns_;
  if (took_ns <= 0 || (has_full_window_ && took_ns < kWindowNs)) return;
  samples_per_second_ = 1e9 * static_cast<double>(window_samples_) / static_cast<double>(took_ns);
  if (took_ns < kWindowNs) return;
  has_full_window_ = true;
  window_begin_ns_ = now_ns;
  window_samples_ = 0;
}

void CountedStep::tell(std::int64_t step, std::int64_t samples, double loss) {
  if (!program_beats) heartbeat_.beat_at(monotonic_ns(), step, samples, loss);
}

}  // namespace ddprun::sdk
