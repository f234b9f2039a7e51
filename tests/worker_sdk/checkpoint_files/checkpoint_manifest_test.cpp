#include "worker_sdk/checkpoint_files/checkpoint_manifest.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "tests/support/catch.hpp"
#include "worker_sdk/checkpoint_files/sha256.hpp"

namespace ddprun::sdk {
namespace {

const std::string kHash(64, 'a');

/// A manifest with one file.
CheckpointManifest with_file(CheckpointFile file) {
  return {.step = 7, .files = {std::move(file)}};
}

/// A manifest as somebody may write it who knows how: one text in it is replaced, and its checksum
/// fits all the same.
std::string rewritten(const std::string& from, const std::string& to) {
  const std::string text = encode(with_file({"model.safetensors", 5, kHash}));
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  auto json = nlohmann::json::parse(std::string{text}.replace(at, from.size(), to));
  json.erase("manifest_sha256");
  Sha256 sha256;
  const std::string without = json.dump();
  sha256.update(without.data(), without.size());
  json["manifest_sha256"] = sha256.hex();
  return json.dump();
}

TEST_CASE("a manifest comes back as it was") {
  const CheckpointManifest manifest{
      .step = 42,
      .epoch = 3,
      .world_size = 8,
      .run_id = "job \"7\"",
      .attempt = 2,
      .created_unix_ms = 1'790'000'000'123,
      .sampler = SamplerState{3, 1200},
      .metadata = {{"arguments", "--lr 0.1\n"}},
      .files = {{"model.safetensors", 5, kHash}, {"x", 7, std::string(64, '0')}}};
  CHECK(decode_manifest(encode(manifest)) == manifest);
  CHECK(manifest.bytes() == 12);
  CHECK_THROWS_WITH(encode(CheckpointManifest{.metadata = {{"x", "\xff"}}}),
                    contains("metadata must be UTF-8"));
}

TEST_CASE("no byte of a manifest changes unseen") {
  const CheckpointManifest manifest = with_file({"model.safetensors", 5, kHash});
  const std::string text = encode(manifest);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    INFO(damaged);
    CHECK_THROWS_AS(decode_manifest(damaged), std::runtime_error);
  }
}

TEST_CASE("a manifest names files of its own folder, each once") {
  using std::string;
  for (const string& name :
       {string{"../x"}, string{"/etc/passwd"}, string{".."}, string{"."}, string{},
        string{"x\0y", 3}, string{"\x1b]0;owned\a"}, string(256, 'x'), string{kManifestFile}}) {
    INFO(name);
    CHECK_THROWS_WITH(decode_manifest(encode(with_file({name, 1, kHash}))),
                      contains("is no file's name") && !contains("\x1b"));
  }
  CHECK_NOTHROW(decode_manifest(encode(with_file({string(255, 'x'), 1, kHash}))));
  CheckpointManifest twice = with_file({"x", 1, kHash});
  twice.files.push_back(twice.files.front());
  CHECK_THROWS_WITH(decode_manifest(encode(twice)), contains("names 'x' twice"));
}

TEST_CASE("numbers of a manifest fit, whatever has written them") {
  CHECK_NOTHROW(decode_manifest(rewritten(R"("world_size": 1)", R"("world_size": 2147483647)")));
  CHECK_NOTHROW(decode_manifest(rewritten(R"("epoch": 0)", R"("epoch": -1)")));
  for (const auto& [from, to] :
       {std::pair{R"("world_size": 1)", R"("world_size": 4294967298)"},
        std::pair{R"("world_size": 1)", R"("world_size": 1.5)"},
        std::pair{R"("world_size": 1)", R"("world_size": -1)"},
        std::pair{R"("step": 7)", R"("step": -7)"}, std::pair{R"("step": 7)", R"("step": true)"},
        std::pair{R"("bytes": 5)", R"("bytes": -5)"},
        std::pair{R"("bytes": 5)", R"("bytes": 18446744073709551615)"}}) {
    INFO(to);
    CHECK_THROWS_WITH(decode_manifest(rewritten(from, to)), contains("is no whole number from "));
  }
  CHECK_THROWS_WITH(decode_manifest(encode(with_file({"x", 1, "../../etc"}))),
                    contains("has no SHA-256 of 'x'"));
}

TEST_CASE("a manifest is not nested deeply, and not long") {
  const std::string deep = std::string(500'000, '[') + std::string(500'000, ']');
  CHECK_THROWS_WITH(decode_manifest(deep), contains("nested too deeply"));
  CHECK_THROWS_WITH(decode_manifest(std::string(2'000'000, ' ')),
                    contains("the manifest has 2000000 bytes, and 1048576 are read at most"));
  CheckpointManifest many;
  for (int i = 0; i <= 1000; ++i) many.files.push_back({std::to_string(i), 1, kHash});
  CHECK_THROWS_WITH(decode_manifest(encode(many)), contains("at most 1000"));
  CHECK_THROWS_WITH(encode(CheckpointManifest{.metadata = {{"x", std::string(1'100'000, 'x')}}}),
                    contains("keep less in its metadata"));
}

TEST_CASE("what is wrong with a manifest is reported briefly, and without orders to a terminal") {
  std::string text = "{\"" + std::string(500'000, 'x') + "\xc2\x9b\x1b\":1";
  try {
    decode_manifest(text);
    FAIL("it was accepted");
  } catch (const std::runtime_error& e) {
    CHECK(std::string{e.what()}.size() < 400);
    CHECK_THAT(e.what(), contains("the manifest makes no sense") && !contains("\x1b"));
  }
}

TEST_CASE("a manifest tells which files it lists") {
  const CheckpointManifest manifest = with_file({"x", 1, kHash});
  CHECK(lists(manifest, "x"));
  CHECK_FALSE(lists(manifest, "y"));
}

}  // namespace
}  // namespace ddprun::sdk
