#include "worker_sdk/checkpoint_files/checkpoint_manifest.hpp"

#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "worker_sdk/checkpoint_files/sha256.hpp"

namespace ddprun::sdk {

namespace {

using nlohmann::json;

constexpr char kFormat[] = "ddprun checkpoint";
constexpr int kVersion = 1;
constexpr char kOwnChecksum[] = "manifest_sha256";

std::string checksum(const json& manifest) {
  Sha256 sha256;
  const std::string text = manifest.dump();  // keys are sorted: always the same text
  sha256.update(text.data(), text.size());
  return sha256.hex();
}

void check_own_checksum(json& manifest) {
  const auto claimed = manifest.at(kOwnChecksum).get<std::string>();
  manifest.erase(kOwnChecksum);
  if (checksum(manifest) != claimed)
    throw std::runtime_error{"the manifest's own checksum does not fit it"};
}

void check_name(const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos || name == "." || name == "..")
    throw std::runtime_error{"the manifest names '" + name + "', which is no file's name"};
}

CheckpointManifest from_json(json in) {
  check_own_checksum(in);
  if (in.at("format") != kFormat || in.at("version") != kVersion)
    throw std::runtime_error{"the manifest is not of version " + std::to_string(kVersion) +
                             " of '" + kFormat + "'"};
  CheckpointManifest manifest{.step = in.at("step"),
                              .epoch = in.at("epoch"),
                              .world_size = in.at("world_size"),
                              .run_id = in.at("run_id"),
                              .attempt = in.at("attempt"),
                              .created_unix_ms = in.at("created_unix_ms"),
                              .sampler = std::nullopt,
                              .metadata = in.at("metadata"),
                              .files = {}};
  if (in.contains("sampler"))
    manifest.sampler =
        SamplerState{in["sampler"].at("epoch").get<std::int64_t>(), in["sampler"].at("consumed")};
  for (const json& file : in.at("files")) {
    manifest.files.push_back({file.at("name"), file.at("bytes"), file.at("sha256")});
    check_name(manifest.files.back().name);
  }
  return manifest;
}

}  // namespace

std::uint64_t CheckpointManifest::bytes() const {
  return std::accumulate(
      files.begin(), files.end(), std::uint64_t{0},
      [](std::uint64_t sum, const CheckpointFile& file) { return sum + file.bytes; });
}

std::string encode(const CheckpointManifest& manifest) try {
  json out{{"format", kFormat},
           {"version", kVersion},
           {"step", manifest.step},
           {"epoch", manifest.epoch},
           {"world_size", manifest.world_size},
           {"run_id", manifest.run_id},
           {"attempt", manifest.attempt},
           {"created_unix_ms", manifest.created_unix_ms},
           {"metadata", manifest.metadata},
           {"files", json::array()}};
  if (manifest.sampler)
    out["sampler"] = {{"epoch", manifest.sampler->epoch}, {"consumed", manifest.sampler->consumed}};
  for (const CheckpointFile& file : manifest.files)
    out["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  out[kOwnChecksum] = checksum(out);
  return out.dump(2) + "\n";
} catch (const json::exception& e) {
  throw std::invalid_argument{std::string{"a checkpoint's metadata must be UTF-8: "} + e.what()};
}

CheckpointManifest decode_manifest(const std::string& text) try {
  return from_json(json::parse(text));
} catch (const json::exception& e) {
  throw std::runtime_error{std::string{"the manifest makes no sense: "} + e.what()};
}

}  // namespace ddprun::sdk
