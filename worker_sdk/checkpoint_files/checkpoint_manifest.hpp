// The manifest of a checkpoint: a small JSON file that says which job and step it belongs to, and
// lists its files with their checksums. A folder without one is no checkpoint. Needs no LibTorch.
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

// What is more is refused, when a manifest is written and when one is read: it may come from
// outside, and must not cost much memory.
inline constexpr std::size_t kManifestBytesMax = 1024 * 1024;
inline constexpr std::size_t kManifestFilesMax = 1000;
inline constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 50U;

/// One file of a checkpoint.
struct CheckpointFile {
  std::string name;  // without a path: it is in the checkpoint's folder
  std::uint64_t bytes = 0;
  std::string sha256;  // 64 hexadecimal digits
  bool operator==(const CheckpointFile&) const = default;
};

/// What the manifest says.
struct CheckpointManifest {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  int world_size = 1;
  std::string run_id;  // the job that wrote it
  int attempt = 0;     // that job's
  std::int64_t created_unix_ms = 0;
  std::optional<SamplerState> sampler;
  std::map<std::string, std::string> metadata;  // the program's own notes
  std::vector<CheckpointFile> files;
  bool operator==(const CheckpointManifest&) const = default;

  /// The size of all files together.
  std::uint64_t bytes() const;
};

/// Returns the manifest as JSON text, which holds a SHA-256 of itself, so that no byte of it
/// changes unseen. Errors: std::invalid_argument for metadata that is not UTF-8, and when the text
/// would have more than kManifestBytesMax.
std::string encode(const CheckpointManifest& manifest);

/// Reads what encode() has written. Errors: std::runtime_error that says what is wrong: the text is
/// too long or not JSON, its checksum does not fit, a field is missing or no such value, or a
/// file's name is a path, has control characters, or is there twice.
CheckpointManifest decode_manifest(const std::string& text);

/// Whether the manifest lists a file of that name.
bool lists(const CheckpointManifest& manifest, const std::string& name);

}  // namespace ddprun::sdk
