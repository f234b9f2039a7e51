#include "launcher/hosts/note_filter.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("what all nodes say is shown once, and again when one says it again") {
  NoteFilter notes;
  CHECK(notes.is_news(1, "stopping"));
  CHECK_FALSE(notes.is_news(2, "stopping"));
  CHECK_FALSE(notes.is_news(3, "stopping"));
  CHECK(notes.is_news(2, "stopping"));
  CHECK_FALSE(notes.is_news(1, "stopping"));
  CHECK(notes.is_news(1, "other"));
}

TEST_CASE("what a host says for the first time is always shown, however much was said before") {
  NoteFilter notes;
  for (int i = 0; i < 5000; ++i) CHECK(notes.is_news(1, std::to_string(i)));
  CHECK_FALSE(notes.is_news(2, "4999"));
  CHECK(notes.is_news(2, "0"));  // forgotten since
}

}  // namespace
}  // namespace ddprun
