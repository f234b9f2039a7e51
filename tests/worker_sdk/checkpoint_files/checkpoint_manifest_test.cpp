#include "worker_sdk/checkpoint_files/checkpoint_manifest.hpp"

#include <stdexcept>

#include "tests/support/catch.hpp"

namespace ddprun::sdk {
namespace {

TEST_CASE("a manifest comes back as it was") {
  const CheckpointManifest manifest{.step = 42,
                                    .epoch = 3,
                                    .world_size = 8,
                                    .run_id = "job \"7\"",
                                    .attempt = 2,
                                    .created_unix_ms = 1'790'000'000'123,
                                    .sampler = SamplerState{3, 1200},
                                    .metadata = {{"arguments", "--lr 0.1\n"}},
                                    .files = {{"model.safetensors", 5, "ab"}, {"x", 7, "cd"}}};
  CHECK(decode_manifest(encode(manifest)) == manifest);
  CHECK(manifest.bytes() == 12);
  CHECK_THROWS_WITH(encode(CheckpointManifest{.metadata = {{"x", "\xff"}}}),
                    contains("metadata must be UTF-8"));
}

TEST_CASE("no byte of a manifest changes unseen") {
  const CheckpointManifest manifest{.step = 7, .files = {{"model.safetensors", 5, "ab"}}};
  const std::string text = encode(manifest);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    INFO(damaged);
    CHECK_THROWS_AS(decode_manifest(damaged), std::runtime_error);
  }
}

TEST_CASE("a manifest cannot name files elsewhere") {
  for (const std::string name : {"../x", "/etc/passwd", "..", ""})
    CHECK_THROWS_WITH(decode_manifest(encode(CheckpointManifest{.files = {{name, 1, "ab"}}})),
                      contains("is no file's name"));
}

}  // namespace
}  // namespace ddprun::sdk
