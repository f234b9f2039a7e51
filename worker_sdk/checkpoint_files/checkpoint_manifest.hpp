// The manifest of a checkpoint: a small JSON file that says what the checkpoint is of, and which
// files with which checksums it consists of. A folder without one is no checkpoint. No LibTorch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ddprun/sampler_state.hpp"

namespace ddprun::sdk {

inline constexpr char kManifestFile[] = "manifest.json";
inline constexpr char kModelFile[] = "model.safetensors";
inline constexpr char kOptimizerFile[] = "optimizer.safetensors";
inline constexpr char kRngFile[] = "rng.safetensors";

struct CheckpointFile {
  std::string name;  // in the checkpoint's folder; no path
  std::uint64_t bytes = 0;
  std::string sha256;  // 64 hexadecimal digits
  bool operator==(const CheckpointFile&) const = default;
};

struct CheckpointManifest {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  int world_size = 1;
  std::string run_id;  // of the job that wrote it, and which attempt of that
  int attempt = 0;
  std::int64_t created_unix_ms = 0;
  std::optional<SamplerState> sampler;
  std::map<std::string, std::string> metadata;  // the program's own
  std::vector<CheckpointFile> files;
  bool operator==(const CheckpointManifest&) const = default;

  std::uint64_t bytes() const;  // of all files
};

/// JSON text, with a SHA-256 of its own, so that no byte of it changes unseen. Errors:
/// std::invalid_argument for metadata that is not UTF-8.
std::string encode(const CheckpointManifest& manifest);

/// Errors: std::runtime_error with what is wrong: it does not parse, its checksum does not fit, a
/// field is missing, or a file's name is a path.
CheckpointManifest decode_manifest(const std::string& text);

}  // namespace ddprun::sdk
