#include "launcher/settings/words.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("a word that is mistyped by two letters at most is found") {
  const std::vector<std::string_view> words{"nproc-per-node", "status", "stop", "store", "top"};
  CHECK(closest_word("nproc-pre-node", words) == "nproc-per-node");
  CHECK(closest_word("statsu", words) == "status");
  CHECK(closest_word("stauts", words) == "status");
  CHECK(closest_word("statu", words) == "status");
  CHECK(closest_word("stp", words) == "stop");
  CHECK(closest_word("storee", words) == "store");
}

TEST_CASE("a word that has most letters of another one is none of them") {
  const std::vector<std::string_view> words{"status", "stop", "ls"};
  CHECK(closest_word("train.py", words).empty());
  CHECK(closest_word("sh", words).empty());
  CHECK(closest_word("", words).empty());
  CHECK(closest_word(std::string(1000, 's'), words).empty());
  CHECK(closest_word("status", {}).empty());
}

}  // namespace
}  // namespace ddprun
