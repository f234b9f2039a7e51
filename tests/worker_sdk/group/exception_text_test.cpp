// What a worker that ends with an exception says of it.
#include "worker_sdk/group/exception_text.hpp"

#include <c10/util/Exception.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "ddprun/work.hpp"
#include "tests/support/catch.hpp"

namespace ddprun::sdk {
namespace {

ExceptionText text_of(const std::function<void()>& act) {
  try {
    act();
  } catch (...) {
    return exception_text();
  }
  return {"nothing was thrown", ""};
}

TEST_CASE("an exception is described by its type and its words") {
  const auto plain = text_of([] { throw std::runtime_error{"no such batch"}; });
  CHECK(plain.message == "std::runtime_error: no such batch");
  CHECK(plain.whole == plain.message);
  const auto own = text_of([] { throw CommunicationError{"all_reduce: rank 1 is gone"}; });
  CHECK(own.message == "ddprun::sdk::CommunicationError: all_reduce: rank 1 is gone");
}

TEST_CASE("an error of LibTorch comes without its stack") {
  const auto text = text_of([] { TORCH_CHECK(false, "sizes differ"); });
  CHECK(text.message == "c10::Error: sizes differ");
  CHECK_THAT(text.whole, !contains("frame #"));
}

TEST_CASE("the exception behind an exception is described, too") {
  const auto text = text_of([] {
    try {
      throw std::invalid_argument{"line 7 has no label"};
    } catch (...) {
      std::throw_with_nested(std::runtime_error{"cannot read train.csv"});
    }
  });
  CHECK_THAT(text.whole, contains("cannot read train.csv\n  because of std::invalid_argument: "
                                  "line 7 has no label"));
}

TEST_CASE("what is thrown and is no std::exception is described by its type") {
  CHECK(text_of([] { throw 7; }).message == "int: an exception that is no std::exception");
}

TEST_CASE("the record of an exception is torch's, whatever bytes and however many the words have") {
  const auto record =
      nlohmann::json::parse(error_record({"std::runtime_error: \xff \"x\"", "all of it"}, 1234));
  CHECK(record["message"]["message"] == "std::runtime_error: \xef\xbf\xbd \"x\"");
  CHECK(record["message"]["extraInfo"]["py_callstack"] == "all of it");
  CHECK(record["message"]["extraInfo"]["timestamp"] == "1234");
  const auto long_text = text_of([] { throw std::runtime_error{std::string(1'000'000, 'x')}; });
  CHECK(error_record(long_text, 1234).size() < 200'000);
}

}  // namespace
}  // namespace ddprun::sdk
