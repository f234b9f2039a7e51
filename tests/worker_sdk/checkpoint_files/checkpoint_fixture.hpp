// The words of tests of folders of checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"
#include "worker_sdk/checkpoint_files/checkpoint_publisher.hpp"

namespace ddprun::sdk {

namespace fs = std::filesystem;
using Steps = std::vector<std::int64_t>;

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span{text});
}

/// A safetensors file with this header and these bytes behind it.
inline std::string tensor_file(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data;
}

/// A safetensors file of one tensor, whose bytes are `data`.
inline std::string one_tensor(const std::string& data) {
  const std::string size = std::to_string(data.size());
  return tensor_file(
      R"({"a":{"dtype":"U8","shape":[)" + size + R"(],"data_offsets":[0,)" + size + "]}}", data);
}

inline std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream{path, std::ios::binary}.rdbuf();
  return text.str();
}

inline WorkerEnv attempt(int number, const std::string& run_id = "job") {
  WorkerEnv env;
  env.restart_count = number;
  env.run_id = run_id;
  return env;
}

class CheckpointFixture {
 protected:
  CheckpointPublisher publisher(PublisherOptions options = {}, const WorkerEnv& env = attempt(0)) {
    return {folder_.path(), CheckpointFence::claim(folder_.path(), env), std::move(options)};
  }

  /// Publishes a checkpoint of two files whose contents follow from `step`.
  static void publish(CheckpointPublisher& to, std::int64_t step) {
    const std::string model = one_tensor("model of step " + std::to_string(step));
    const std::string optimizer =
        one_tensor(std::string(10'000'000, static_cast<char>('a' + step)));  // several chunks
    to.publish({.step = step, .epoch = step / 2, .world_size = 4, .metadata = {{"lr", "0.1"}}},
               {{kModelFile, {bytes_of(model).first(5), bytes_of(model).subspan(5)}},
                {kOptimizerFile, {bytes_of(optimizer)}}});
  }

  /// A checkpoint of `step` that somebody else has made: the manifest fits its file.
  fs::path made_elsewhere(std::int64_t step, const std::string& name, const std::string& file) {
    fs::create_directory(path_of(step));
    std::ofstream{path_of(step) / "data"} << file;
    const std::string sha256 = sha256_of_file(path_of(step) / "data");
    if (name != "data") fs::rename(path_of(step) / "data", path_of(step) / name);
    std::ofstream{path_of(step) / kManifestFile}
        << encode(CheckpointManifest{.step = step, .files = {{name, file.size(), sha256}}});
    return path_of(step);
  }

  fs::path path_of(std::int64_t step) const { return folder_ / checkpoint_name(step); }

  /// Returns the steps of all complete ones, hashes compared, newest first.
  Steps complete() const {
    Steps steps;
    for (const auto& entry : list_checkpoints(folder_.path()))
      if (verify_checkpoint(entry.path).state == CheckpointState::kComplete)
        steps.push_back(entry.step);
    return steps;
  }

  static void flip_byte(const fs::path& file, std::streamoff position) {
    std::fstream stream{file, std::ios::in | std::ios::out | std::ios::binary};
    stream.seekg(position);
    const char byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(position);
    stream.put(byte);
    REQUIRE(stream.good());
  }

  ScratchFolder folder_;
};

}  // namespace ddprun::sdk
