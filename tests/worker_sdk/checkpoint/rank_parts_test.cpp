// What a checkpoint keeps of each rank.

#include "ddprun/checkpointer.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker_sdk/shared_folder.hpp"

namespace ddprun::sdk {
namespace {

struct Note : Stateful {
  explicit Note(std::string its_text) : text{std::move(its_text)} {}
  std::string save_state() const override { return text; }
  void restore_state(const std::string& state) override { text = state; }
  std::string text;
};

TEST_CASE("each rank gets its own state back, and as many ranks are needed as had saved") {
  const SharedFolder folder;
  torch::nn::Linear module{2, 1};
  torch::optim::SGD optimizer{module->parameters(), 0.1};
  const std::string own = "the place of rank " + std::to_string(group().rank());
  {
    Note note{own};
    Checkpointer checkpointer{folder.path(), group()};
    checkpointer.keep_of_each_rank("data", note);
    CHECK_THROWS_WITH(checkpointer.keep_of_each_rank("data", note), contains("'data'"));
    checkpointer.save(*module, optimizer, {.step = 1});
  }
  group().barrier();
  Note loaded{"fresh"};
  Checkpointer loading{folder.path(), group()};
  loading.keep_of_each_rank("data", loaded);
  loading.load_latest(*module, optimizer);
  CHECK(loaded.text == own);

  Note missing{"fresh"};
  Checkpointer other_name{folder.path(), group()};
  other_name.keep_of_each_rank("other", missing);
  CHECK_THROWS_WITH(other_name.load_latest(*module, optimizer), contains("no state of 'other'"));

  const auto alone = group().new_group({0});
  if (alone && group().size() > 1) {
    Checkpointer smaller{folder.path(), *alone};
    smaller.keep_of_each_rank("data", missing);
    CHECK_THROWS_WITH(
        smaller.load_latest(*module, optimizer),
        contains("for " + std::to_string(group().size()) + " ranks, and there are 1"));
  }
  group().barrier();  // nobody removes the folder before
}

}  // namespace
}  // namespace ddprun::sdk
