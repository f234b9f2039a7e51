// Fuzzes what is read of shards. The first byte of the input says what it is: a pattern of shards'
// names, or a tar file, of which the byte then says, too, where reading it stops and goes on.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ddprun/tar_shards.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace ddprun;
using namespace ddprun::sdk;

constexpr std::size_t kPathsMax = 1'000'000;
/// Small enough that a fuzzer meets them.
const TarShardsOptions kOptions{
    .shuffle_buffer = 3, .shuffle_bytes = 200, .field_bytes_max = 100, .fields_max = 3};

/// A file that is in memory only, and has a name while this lives.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_{memfd_create("shard", MFD_CLOEXEC)} {
    require(fd_ >= 0);
    require(write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

/// What a stream gave until its epoch or the file's sense ended.
struct Reading {
  std::vector<ShardSample> samples;
  std::optional<ShardState> state;  // after as many samples as the reader was asked for
  bool failed = false;
};

Reading read_epoch(TarShards& shards, std::size_t state_after) {
  Reading reading;
  try {
    for (;;) {
      if (reading.samples.size() == state_after) reading.state = shards.state();
      auto sample = shards.next();
      if (!sample) return reading;
      require(sample->fields.size() <= kOptions.fields_max);
      for (const auto& [name, value] : sample->fields)
        require(value.size() <= kOptions.field_bytes_max);
      reading.samples.push_back(*std::move(sample));
    }
  } catch (const std::runtime_error& e) {
    require(std::string_view{e.what()}.size() < 2000);
    reading.failed = true;
  }
  return reading;
}

bool same(const ShardSample& a, const ShardSample& b) {
  return a.key == b.key && a.fields == b.fields;
}

void check_shard(std::string_view bytes, std::size_t state_after) {
  const MemoryFile file{bytes};
  TarShards shards{{file.path()}, kOptions};
  const Reading whole = read_epoch(shards, state_after);
  if (!whole.state) return;
  TarShards again{{file.path()}, kOptions};
  try {
    again.resume(*whole.state);
  } catch (const std::runtime_error&) {  // it reads what the other one would have read next
    return require(whole.failed && whole.samples.size() == state_after);
  }
  const Reading rest = read_epoch(again, 0);
  require(rest.failed == whole.failed);
  require(rest.samples.size() == whole.samples.size() - state_after);
  for (std::size_t i = 0; i < rest.samples.size(); ++i)
    require(same(rest.samples[i], whole.samples[state_after + i]));
}

void check_pattern(const std::string& pattern) try {
  const auto paths = expand_shards(pattern);
  require(!paths.empty() && paths.size() <= kPathsMax);
} catch (const std::invalid_argument& e) {
  require(std::string_view{e.what()}.size() < pattern.size() + 200);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text{reinterpret_cast<const char*>(data) + 1, size - 1};
  if (data[0] == 0) {
    check_pattern(text);
  } else {
    check_shard(text, data[0] % 8);
  }
  return 0;
}
