#include "worker_sdk/checkpoint_files/checkpoint_manifest.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

#include "worker_sdk/checkpoint_files/sha256.hpp"
#include "worker_sdk/checkpoint_files/shown_text.hpp"

namespace ddprun::sdk {

namespace {

using nlohmann::json;

constexpr char kFormat[] = "ddprun checkpoint";
constexpr int kVersion = 1;
constexpr char kOwnChecksum[] = "manifest_sha256";
constexpr std::size_t kNameBytesMax = 255;  // NAME_MAX of Linux

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

/// A name of one file in the checkpoint's own folder, which is safe to print.
bool is_file_name(const std::string& name) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  return !name.empty() && name.size() <= kNameBytesMax && name.find('/') == std::string::npos &&
         name != "." && name != ".." && name != kManifestFile &&
         std::ranges::none_of(name, is_control);
}

bool is_sha256(const std::string& text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 64 && std::ranges::all_of(text, is_digit);
}

/// Reads a whole number from `least` to `most`. json::get() would cut off what does not fit.
template <typename Number>
Number whole(const json& in, const char* key, Number least = 0,
             Number most = std::numeric_limits<Number>::max()) {
  const json& value = in.at(key);
  const bool fits =
      value.is_number_unsigned()
          ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
          : value.is_number_integer() && std::cmp_less_equal(least, value.get<std::int64_t>());
  if (!fits)
    throw std::runtime_error{std::string{"the manifest's '"} + key + "' is no whole number from " +
                             std::to_string(least) + " to " + std::to_string(most)};
  return value.get<Number>();
}

/// An epoch is whatever number the program gives it.
std::int64_t epoch(const json& in) {
  return whole(in, "epoch", std::numeric_limits<std::int64_t>::min());
}

CheckpointFile read_file(const json& in) {
  CheckpointFile file{in.at("name"), whole(in, "bytes", std::uint64_t{0}, kFileBytesMax),
                      in.at("sha256")};
  if (!is_file_name(file.name))
    throw std::runtime_error{"the manifest names '" + shown(file.name) +
                             "', which is no file's name"};
  if (!is_sha256(file.sha256))
    throw std::runtime_error{"the manifest has no SHA-256 of '" + shown(file.name) + "'"};
  return file;
}

std::vector<CheckpointFile> read_files(const json& in) {
  if (!in.is_array() || in.size() > kManifestFilesMax)
    throw std::runtime_error{"the manifest's files are no list of at most " +
                             std::to_string(kManifestFilesMax)};
  std::vector<CheckpointFile> files;
  std::set<std::string> names;
  for (const json& entry : in) {
    files.push_back(read_file(entry));
    if (!names.insert(files.back().name).second)
      throw std::runtime_error{"the manifest names '" + shown(files.back().name) + "' twice"};
  }
  return files;
}

CheckpointManifest from_json(json in) {
  check_own_checksum(in);
  if (in.at("format") != kFormat || in.at("version") != kVersion)
    throw std::runtime_error{"the manifest is not of version " + std::to_string(kVersion) +
                             " of '" + kFormat + "'"};
  CheckpointManifest manifest{.step = whole<std::int64_t>(in, "step"),
                              .epoch = epoch(in),
                              .world_size = whole<int>(in, "world_size"),
                              .run_id = in.at("run_id"),
                              .attempt = whole<int>(in, "attempt"),
                              .created_unix_ms = whole<std::int64_t>(in, "created_unix_ms"),
                              .sampler = std::nullopt,
                              .metadata = in.at("metadata"),
                              .files = read_files(in.at("files"))};
  if (in.contains("sampler"))
    manifest.sampler =
        SamplerState{epoch(in["sampler"]), whole<std::int64_t>(in["sampler"], "consumed")};
  return manifest;
}

/// A manifest is three levels deep. The checksum's text is made level by level on the stack.
json parse(const std::string& text) {
  constexpr int kDepthMax = 8;
  return json::parse(text, [](int depth, json::parse_event_t, const json&) {
    if (depth > kDepthMax) throw std::runtime_error{"the manifest is nested too deeply"};
    return true;
  });
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
  std::string text = out.dump(2) + "\n";
  if (text.size() > kManifestBytesMax)
    throw std::invalid_argument{
        "a checkpoint's manifest would have " + std::to_string(text.size()) + " bytes, and " +
        std::to_string(kManifestBytesMax) + " are possible: keep less in its metadata"};
  return text;
} catch (const json::exception& e) {
  throw std::invalid_argument{std::string{"a checkpoint's metadata must be UTF-8: "} + e.what()};
}

CheckpointManifest decode_manifest(const std::string& text) try {
  if (text.size() > kManifestBytesMax)
    throw std::runtime_error{"the manifest has " + std::to_string(text.size()) + " bytes, and " +
                             std::to_string(kManifestBytesMax) + " are read at most"};
  return from_json(parse(text));
} catch (const json::exception& e) {
  throw std::runtime_error{"the manifest makes no sense: " + shown(e.what(), kProblemBytesMax)};
}

bool lists(const CheckpointManifest& manifest, const std::string& name) {
  return std::ranges::count(manifest.files, name, &CheckpointFile::name) > 0;
}

}  // namespace ddprun::sdk
