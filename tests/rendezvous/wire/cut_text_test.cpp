#include "rendezvous/wire/cut_text.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Keep = TextLimit::Keep;

TEST_CASE("a text within its limit stays as it is") {
  CHECK(cut("", {0}) == "");
  CHECK(cut("12345678", {8}) == "12345678");
  CHECK(cut("12345678", {8, Keep::kEnd}) == "12345678");
}

TEST_CASE("a longer text is cut, and shows it") {
  CHECK(cut("123456789", {8}) == "12345…");
  CHECK(cut("123456789", {8, Keep::kEnd}) == "…56789");
}

TEST_CASE("no character is cut in two, and no limit is exceeded") {
  const std::string text = "äé…🙂äé…🙂äé…🙂";
  for (std::size_t bytes = 3; bytes < text.size(); ++bytes) {
    for (const Keep keep : {Keep::kBeginning, Keep::kEnd}) {
      INFO(bytes << " bytes");
      const std::string kept = cut(text, {bytes, keep});
      CHECK(kept.size() <= bytes);
      CHECK(kept.size() + 3 >= bytes);
      const bool whole = keep == Keep::kEnd || kept.size() == 3 ||
                         text.starts_with(kept.substr(0, kept.size() - 3));
      CHECK(whole);
      // The first byte after the cut begins a character.
      const std::string rest = keep == Keep::kEnd ? kept.substr(3) : text.substr(kept.size() - 3);
      CHECK((rest.empty() || (static_cast<unsigned char>(rest[0]) & 0xc0U) != 0x80U));
    }
  }
}

TEST_CASE("bytes that are no text are cut all the same") {
  const std::string noise(1000, '\x80');
  CHECK(cut(noise, {100}).size() >= 97);
  CHECK(cut(noise, {100}).size() <= 100);
  CHECK(cut(noise, {100, Keep::kEnd}).size() >= 97);
}

}  // namespace
}  // namespace ddprun
