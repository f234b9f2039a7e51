#include "agent/reports/changes.hpp"

#include "agent/spec/launch_spec.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

std::string text_of_change(Change change) {
  const std::string text = changes_text({.age_s = 7'300, .changes = {std::move(change)}});
  const std::string begins = "since it worked, 2 hours before: ";
  REQUIRE(text.starts_with(begins));
  return text.substr(begins.size());
}

TEST_CASE("a change is described as a person would do it") {
  CHECK(text_of_change({ChangeKind::kFile, "train.py", "sha256:1", "sha256:2"}) ==
        "train.py changed");
  CHECK(text_of_change({ChangeKind::kVersion, "torch", "2.10.0", "2.11.0"}) ==
        "torch 2.10.0 \u2192 2.11.0");
  CHECK(text_of_change({ChangeKind::kOption, "--nproc-per-node", "4", "8"}) ==
        "--nproc-per-node 4 \u2192 8");
  CHECK(text_of_change({ChangeKind::kVariable, "NCCL_DEBUG", "", "INFO"}) ==
        "NCCL_DEBUG=INFO is new");
  CHECK(text_of_change({ChangeKind::kVariable, "NCCL_DEBUG", "INFO", ""}) ==
        "NCCL_DEBUG=INFO is gone");
  CHECK(text_of_change({ChangeKind::kOption, "--fold", "", kFlagIsOn}) == "--fold is new");
  CHECK(text_of_change({ChangeKind::kOption, "--fold", kFlagIsOn, ""}) == "--fold is gone");
  CHECK(text_of_change({ChangeKind::kNode, "node", "", "h3"}) == "node h3 is new");
}

TEST_CASE("what a change is does not follow from its texts") {
  CHECK(text_of_change({ChangeKind::kFile, "node", "sha256:1", "sha256:2"}) == "node changed");
  CHECK(text_of_change({ChangeKind::kVariable, "CUDA_IMAGE", "sha256:1", "sha256:2"}) ==
        "CUDA_IMAGE=sha256:1 \u2192 sha256:2");
  CHECK(text_of_change({ChangeKind::kVariable, "NCCL_X", "", "on"}) == "NCCL_X=on is new");
  CHECK(text_of_change({ChangeKind::kVariable, "NCCL_x.y", "", "1"}) == "NCCL_x.y=1 is new");
  CHECK(text_of_change({ChangeKind::kOption, "--IMAGE", "", "sha256:2"}) ==
        "--IMAGE sha256:2 is new");
  CHECK(text_of_change({ChangeKind::kProgram, "Python", "/a", "/b"}) == "Python is /a \u2192 /b");
}

TEST_CASE("arguments are several") {
  CHECK(text_of_change({ChangeKind::kArguments, "arguments", "", "'--lr 1'"}) ==
        "arguments '--lr 1' are new");
  CHECK(text_of_change({ChangeKind::kArguments, "arguments", "'--lr 1'", ""}) ==
        "arguments '--lr 1' are gone");
  CHECK(text_of_change({ChangeKind::kArguments, "arguments", "'1'", "'2'"}) ==
        "arguments '1' \u2192 '2'");
}

TEST_CASE("nodes that came and went are in one line") {
  SinceGoodRun since{.changes = {{ChangeKind::kNode, "node", "", "h5"},
                                 {ChangeKind::kNode, "node", "h1", ""},
                                 {ChangeKind::kNode, "node", "", "h6"}}};
  CHECK_THAT(changes_text(since), contains(": nodes h5, h6 are new, node h1 is gone"));
  since.changes.assign(6, {ChangeKind::kNode, "node", "", "h"});
  CHECK_THAT(changes_text(since), contains(": nodes h, h, h, h and 2 more are new"));
}

TEST_CASE("many changes and long values fit a line") {
  SinceGoodRun since;
  since.changes.assign(30, {ChangeKind::kOption, "--rdzv-conf", std::string(5000, 'x'), "y"});
  const std::string text = changes_text(since);
  CHECK(text.ends_with(", and 22 more"));
  CHECK(text.size() < 1500);
}

TEST_CASE("that nothing has changed is worth a line, too") {
  CHECK(changes_text({.age_s = 60}) ==
        "nothing that ddprun records has changed since it worked, 1 minute before (imported "
        "modules are not compared)");
  CHECK_THAT(changes_text({.age_s = 0}), contains("less than a second before"));
  CHECK_THAT(changes_text({.age_s = 1}), contains(", 1 second before"));
  CHECK_THAT(changes_text({.age_s = 3 * 86'400}), contains(", 3 days before"));
}

}  // namespace
}  // namespace ddprun
