#include "worker_sdk/checkpoint_files/checkpoint_fence.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <utility>

#include "worker_sdk/checkpoint_files/atomic_file.hpp"
#include "worker_sdk/checkpoint_files/hashed_file.hpp"
#include "worker_sdk/checkpoint_files/input_file.hpp"
#include "worker_sdk/checkpoint_files/shown_text.hpp"

namespace ddprun::sdk {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kFenceFile[] = ".fence";
constexpr char kLockFile[] = ".fence.lock";
constexpr std::uint64_t kFenceBytesMax = 64 * 1024;
constexpr std::chrono::milliseconds kLockPoll{20};

std::int64_t unix_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

/// When this process started: it is set before main() runs.
const std::int64_t kStartedUnixMs = unix_ms();

struct Claim {
  std::string token;
  std::string run_id;
  int generation = 0;  // see generation_of()
  int attempt = 0;
  std::string host;
  std::int64_t pid = 0;
  std::int64_t time_unix_ms = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Claim, token, run_id, generation, attempt, host, pid,
                                   time_unix_ms)

/// Tells which of two claims of one run is the later one. Rounds are better than attempts, because
/// they grow with every membership and not only with failures; but only ddprun tells rounds.
int generation_of(const WorkerEnv& env) { return env.round > 0 ? env.round : env.restart_count; }

std::string host_name() {
  std::string name(256, '\0');
  if (gethostname(name.data(), name.size()) != 0) return "unknown";
  return name.c_str();
}

/// All claims of one process in one round have the same token, so that a program may have several
/// Checkpointers for one folder. The token is part of the names of temporary folders.
std::string make_token(int generation) {
  static const std::string program = [] {
    std::random_device entropy;
    return std::to_string(entropy()) + "-" + std::to_string(entropy());
  }();
  // A fork has the parent's `program`, so its process id is in the token as well.
  return program + "-" + std::to_string(getpid()) + "-" + std::to_string(generation);
}

/// Returns nullopt when no process has claimed the folder, and when the file makes no sense: a new
/// claim replaces it in either case.
std::optional<Claim> read_claim(const fs::path& folder) try {
  const InputFile file{folder / kFenceFile};
  if (file.bytes() > kFenceBytesMax) return std::nullopt;
  Claim claim = json::parse(file.read_text(file.bytes())).get<Claim>();
  claim.host = shown(claim.host);
  return claim;
} catch (const std::exception&) {
  return std::nullopt;
}

void write_claim(const fs::path& folder, const Claim& claim) {
  const std::string text = json(claim).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  AtomicFile file{folder / kFenceFile};
  file.write(text.data(), text.size());
  file.commit();
}

std::string name_of(const Claim& claim) {
  return "attempt " + std::to_string(claim.attempt) + " (pid " + std::to_string(claim.pid) +
         " on host " + claim.host + ")";
}

/// A process that may open the file may also hold its lock for ever, even if only for reading: so
/// only its owner may. A file from an earlier version is closed to others here.
int open_lock(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (fd < 0) fail_with_errno("open", path);
  struct stat status {};
  if (fstat(fd, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 077) != 0)
    fchmod(fd, 0600);  // a file system without modes refuses that, and is as it was
  return fd;
}

int lock(const fs::path& folder, std::chrono::milliseconds patience) {
  const fs::path path = folder / kLockFile;
  const int fd = open_lock(path);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  // flock(2) can wait without a deadline or not at all, so we poll.
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() >= deadline) {
      const int number = errno;
      close(fd);
      errno = number;
      if (number != EWOULDBLOCK) fail_with_errno("lock", path);
      throw std::runtime_error{"another process has held the lock '" + path.string() + "' for " +
                               std::to_string(patience.count()) +
                               " ms: end it (fuser names it), then start again"};
    }
    std::this_thread::sleep_for(kLockPoll);
  }
  return fd;
}

/// A job that is run again begins at the first round, so a claim from before this process started
/// is no rival, whatever its generation. One from the same millisecond is taken for a rival,
/// because it is safer to stop than to write over another attempt.
bool is_later(const Claim& theirs, const Claim& mine) {
  return theirs.run_id == mine.run_id && theirs.generation > mine.generation &&
         theirs.time_unix_ms >= kStartedUnixMs;
}

}  // namespace

CheckpointFence CheckpointFence::claim(const fs::path& folder, const WorkerEnv& env,
                                       std::chrono::milliseconds patience) {
  const int generation = generation_of(env);
  const Claim mine{make_token(generation),
                   env.run_id,
                   generation,
                   env.restart_count,
                   host_name(),
                   getpid(),
                   unix_ms()};
  const Entered lock_held{lock(folder, patience)};
  const auto before = read_claim(folder);
  if (before && is_later(*before, mine))
    throw FencedOffError{name_of(mine) + " comes too late to claim '" + folder.string() +
                         "': " + name_of(*before) +
                         " of the same run is at work there. End this process: that one goes on"};
  if (!before || before->token != mine.token) write_claim(folder, mine);
  return {folder, mine.token, patience};
}

CheckpointFence::CheckpointFence(fs::path folder, std::string token,
                                 std::chrono::milliseconds patience)
    : folder_{std::move(folder)}, token_{std::move(token)}, patience_{patience} {}

CheckpointFence::Entered CheckpointFence::enter() const {
  Entered entered{lock(folder_, patience_)};
  const auto newest = read_claim(folder_);
  if (newest && newest->token == token_) return entered;
  throw FencedOffError{
      "this worker may not change '" + folder_.string() + "' any more: " +
      (newest
           ? name_of(*newest) +
                 " has claimed it. End this process: that one goes on. If both are to live, "
                 "they are two jobs: give each a folder of its own"
           : std::string{"its claim, the file '"} + kFenceFile +
                 "' there, has been removed. Start the job again, which claims the folder again, "
                 "and leave that file alone")};
}

CheckpointFence::Entered::Entered(Entered&& other) noexcept
    : lock_{std::exchange(other.lock_, -1)} {}

CheckpointFence::Entered::~Entered() {
  if (lock_ >= 0) close(lock_);
}

}  // namespace ddprun::sdk
