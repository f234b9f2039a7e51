// Shards that Python's tarfile has written.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "ddprun/tar_shards.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun::sdk {

/// write_shards.py with these arguments.
inline void write_shards(std::initializer_list<std::string> arguments) {
  std::string command = DDPRUN_PYTHON3 " " DDPRUN_WRITE_SHARDS;
  for (const std::string& argument : arguments) command += " '" + argument + "'";
  if (std::system(command.c_str()) != 0) throw std::runtime_error{"failed: " + command};
}

/// `shards` files of `samples` samples, in a folder of their own. The samples' field txt is their
/// number through all shards: 00000, 00001, ...
class NumberedShards {
 public:
  NumberedShards(int shards, int samples, const std::string& mode = "w") {
    const std::string pattern = (folder_ / "s-%03d.tar").string();
    write_shards({"numbered", pattern, std::to_string(shards), std::to_string(samples), mode});
    paths_ =
        expand_shards((folder_ / "s-{000..").string() + std::string(shards <= 10 ? "00" : "0") +
                      std::to_string(shards - 1) + "}.tar");
  }
  const std::vector<std::filesystem::path>& paths() const { return paths_; }

 private:
  ScratchFolder folder_;
  std::vector<std::filesystem::path> paths_;
};

using Numbers = std::vector<int>;

inline int number_of(const ShardSample& sample) { return std::stoi(sample.fields.at("txt")); }

/// What is left of the epoch, at most `most` samples.
inline Numbers numbers(TarShards& shards, std::size_t most = 1'000'000) {
  Numbers all;
  while (all.size() < most) {
    const auto sample = shards.next();
    if (!sample) break;
    all.push_back(number_of(*sample));
  }
  return all;
}

}  // namespace ddprun::sdk
