// Token files as windows, in order and shuffled over ranks.

#include "ddprun/token_files.hpp"

#include <fstream>
#include <set>

#include "ddprun/data_loader.hpp"
#include "ddprun/distributed_sampler.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun::sdk {
namespace {

namespace fs = std::filesystem;

/// A file of the tokens first, first + 1, ...
template <typename Token>
fs::path write_tokens(const ScratchFolder& folder, const std::string& name, int first, int count) {
  std::ofstream file{folder / name, std::ios::binary};
  for (int i = 0; i < count; ++i) {
    const auto token = static_cast<Token>(first + i);
    file.write(reinterpret_cast<const char*>(&token), sizeof(token));
  }
  return folder / name;
}

std::vector<std::int64_t> numbers(const torch::Tensor& tensor) {
  const torch::Tensor plain = tensor.contiguous();
  return {plain.const_data_ptr<std::int64_t>(),
          plain.const_data_ptr<std::int64_t>() + plain.numel()};
}

TEST_CASE("windows go through all files, and no target comes twice") {
  const ScratchFolder folder;
  const TokenFiles tokens{{write_tokens<std::uint16_t>(folder, "a", 60000, 9),   // two windows
                           write_tokens<std::uint16_t>(folder, "short", 7, 4),   // none
                           write_tokens<std::uint16_t>(folder, "b", 100, 8),     // one, and a rest
                           write_tokens<std::uint16_t>(folder, "empty", 0, 0)},  // none
                          {.window = 4}};
  REQUIRE(tokens.size() == 3);
  const TokenBatch batch = tokens.get_batch({0, 1, 2});
  CHECK(numbers(batch.inputs) == std::vector<std::int64_t>{60000, 60001, 60002, 60003, 60004, 60005,
                                                           60006, 60007, 100, 101, 102, 103});
  CHECK(torch::equal(batch.targets, batch.inputs + 1));
  CHECK_THROWS_WITH(tokens.get_batch({3}), contains("window 3 of 3"));
}

TEST_CASE("tokens may be bytes, or of 32 bits") {
  const ScratchFolder folder;
  const TokenFiles bytes{{write_tokens<std::uint8_t>(folder, "8", 200, 5)},
                         {.window = 4, .dtype = torch::kUInt8}};
  CHECK(numbers(bytes.get_batch({0}).targets) == std::vector<std::int64_t>{201, 202, 203, 204});
  const TokenFiles wide{{write_tokens<std::int32_t>(folder, "32", 100000, 5)},
                        {.window = 4, .dtype = torch::kInt32}};
  CHECK(numbers(wide.get_batch({0}).inputs) ==
        std::vector<std::int64_t>{100000, 100001, 100002, 100003});
}

TEST_CASE("files that are none are refused, with their names") {
  const ScratchFolder folder;
  const fs::path odd = write_tokens<std::uint8_t>(folder, "odd", 0, 5);
  CHECK_THROWS_WITH((TokenFiles{{odd}, {}}), contains("odd' has 5 bytes"));
  CHECK_THROWS_WITH((TokenFiles{{folder / "gone"}, {}}), contains("gone': No such file"));
  CHECK_THROWS_WITH((TokenFiles{{}, {}}), contains("no files"));
  CHECK_THROWS_WITH((TokenFiles{{odd}, {.window = 5, .dtype = torch::kUInt8}}),
                    contains("no file has the 6 tokens"));
  CHECK_THROWS_WITH((TokenFiles{{odd}, {.window = 0}}), contains("a window of 0"));
  CHECK_THROWS_WITH((TokenFiles{{odd}, {.dtype = torch::kFloat32}}), contains("dtype Float"));
}

/// The first tokens of the windows that `ranks` workers see, each of up to `most` windows.
std::multiset<std::int64_t> seen(const TokenFiles& tokens, int ranks, std::int64_t most,
                                 const std::optional<SamplerState>& from, SamplerState& after) {
  std::multiset<std::int64_t> first_tokens;
  for (int rank = 0; rank < ranks; ++rank) {
    DistributedSampler sampler{tokens.size(), ranks, rank, {.seed = 3}};
    if (from) sampler.resume(*from);
    sampler.set_epoch(1);
    std::int64_t used = 0;
    auto loader = make_data_loader(tokens, sampler.indices(), {.batch_size = 2, .workers = 2});
    while (used < most) {
      const auto batch = loader.next();
      if (!batch) break;
      for (const std::int64_t token : numbers(batch->inputs.select(1, 0)))
        first_tokens.insert(token);
      used += batch->inputs.size(0);
    }
    after = sampler.state_after(used);
  }
  return first_tokens;
}

TEST_CASE("each window comes once an epoch, also when other workers go on in the middle") {
  const ScratchFolder folder;
  const TokenFiles tokens{{write_tokens<std::uint16_t>(folder, "a", 0, 301),
                           write_tokens<std::uint16_t>(folder, "b", 1000, 181)},
                          {.window = 5}};
  REQUIRE(tokens.size() == 96);
  SamplerState middle;
  auto all = seen(tokens, 2, 12, std::nullopt, middle);
  REQUIRE(all.size() == 24);
  SamplerState end;
  all.merge(seen(tokens, 3, 1000, middle, end));
  CHECK(all.size() == 96);
  CHECK(std::set<std::int64_t>(all.begin(), all.end()).size() == 96);
  CHECK(end.consumed == 96);
}

}  // namespace
}  // namespace ddprun::sdk
