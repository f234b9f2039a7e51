#include "worker_sdk/checkpoint_files/tensor_table.hpp"

#include <stdexcept>

#include "tests/support/catch.hpp"

namespace ddprun::sdk {
namespace {

std::string tensor(const std::string& fields) { return R"({"a":{)" + fields + "}}"; }

std::string floats(const std::string& shape, const std::string& place) {
  return tensor(R"("dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[)" + place + "]");
}

std::string error(const std::string& header, std::uint64_t data_bytes) {
  try {
    parse_tensor_table(header, data_bytes);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "no error";
}

TEST_CASE("a header says of each tensor what it is and where, and has notes") {
  const TensorTable table =
      parse_tensor_table(R"({"__metadata__":{"format":"pt","":""},)"
                         R"("b":{"data_offsets":[8,8],"shape":[0,3],"dtype":"BOOL"},)"
                         R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                         R"("scalar":{"dtype":"I64","shape":[],"data_offsets":[8,16]}}   )",
                         16);
  CHECK(table.tensors.size() == 3);
  CHECK(table.tensors.at("a") == TensorEntry{"F32", {2}, 0, 8});
  CHECK(table.tensors.at("b") == TensorEntry{"BOOL", {0, 3}, 8, 8});
  CHECK(table.tensors.at("scalar") == TensorEntry{"I64", {}, 8, 16});
  CHECK(table.metadata == std::map<std::string, std::string>{{"", ""}, {"format", "pt"}});
  CHECK(parse_tensor_table("{}", 0).tensors.empty());
}

TEST_CASE("a tensor that does not lie in its file is refused") {
  CHECK(error(floats("2", "0,8"), 8) == "no error");
  CHECK(error(floats("2", "0,8"), 7) == "tensor 'a' reaches beyond its end");
  CHECK_THAT(error(floats("2", "8,0"), 8), contains("reaches beyond"));
  CHECK_THAT(error(floats("2", "0,18446744073709551615"), 8), contains("reaches beyond"));
  CHECK_THAT(error(floats("2", "0,8"), 9), contains("longer or shorter than its tensors"));
  CHECK_THAT(error(floats("3", "0,8"), 8), contains("does not fit its shape"));
  CHECK_THAT(error(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                   R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                   6),
             contains("overlap"));
}

TEST_CASE("a shape that no tensor has is refused") {
  CHECK_THAT(error(floats("-2", "0,8"), 8), contains("tensor 'a' has an impossible shape"));
  CHECK_THAT(error(floats("4611686018427387904,4", "0,0"), 0), contains("impossible shape"));
  CHECK_THAT(error(floats("0,4611686018427387904,4", "0,0"), 0), contains("impossible shape"));
  CHECK_THAT(error(floats("18446744073709551615", "0,0"), 0), contains("impossible shape"));
  std::string ones = "1";
  for (int i = 1; i < 64; ++i) ones += ",1";
  CHECK(error(floats(ones, "0,4"), 4) == "no error");
  CHECK_THAT(error(floats(ones + ",1", "0,4"), 4), contains("impossible shape"));
}

TEST_CASE("a header that has something else than the format is refused") {
  for (const char* header : {"[]", "3", "\"a\"", "null"})
    CHECK(error(header, 0) == "its header is not an object");
  for (const char* header : {"",
                             "{",
                             "{\"a",
                             "{}{}",
                             R"({"a":3})",
                             R"({"a":[]})",
                             R"({"a":{}})",
                             R"({"a":{"dtype":"F32","shape":[0]}})",
                             R"({"a":{"dtype":3}})",
                             R"({"a":{"dtype":"F32","dtype":"F32"}})",
                             R"({"a":{"shape":{}}})",
                             R"({"a":{"shape":[[1]]}})",
                             R"({"a":{"shape":[1.5]}})",
                             R"({"a":{"shape":[true]}})",
                             R"({"a":{"shape":["1"]}})",
                             R"({"a":{"data_offsets":[0]}})",
                             R"({"a":{"data_offsets":[0,0,0]}})",
                             R"({"a":{"data_offsets":[-1,0]}})",
                             R"({"__metadata__":3})",
                             R"({"__metadata__":{"a":3}})",
                             R"({"__metadata__":{"a":{}}})",
                             R"({"__metadata__":[]})"}) {
    INFO(header);
    CHECK_THAT(error(header, 0), contains("makes no sense"));
  }
  CHECK_THAT(error(tensor(R"("dtype":"F99")"), 0), contains("unknown dtype 'F99'"));
  CHECK_THAT(error(tensor(R"("colour":"red")"), 0), contains("unknown field 'colour'"));
  CHECK_THAT(
      error(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8"}})", 0),
      contains("tensor 'a' is there twice"));
}

TEST_CASE("what is wrong is reported briefly, and without orders to a terminal") {
  const std::string name = R"(\u001b]0;owned)" + std::string(100'000, 'x');
  const std::string told = error(R"({")" + name + R"(":{"dtype":"F99"}})", 0);
  CHECK(told.size() < 400);
  CHECK_THAT(told, contains("tensor '?]0;ownedxxx") && !contains("\x1b"));
  CHECK(error("{\"" + std::string(100'000, 'x') + "\x1b", 0).size() < 400);
}

TEST_CASE("neither a long header nor a deep one costs much") {
  CHECK_NOTHROW(check_header_length(kHeaderBytesMax, kHeaderBytesMax + 8));
  CHECK_THROWS_WITH(check_header_length(100'000'000, 200'000'000),
                    contains("claims 100000000 bytes, and 16777216 are read at most"));
  CHECK_THROWS_WITH(check_header_length(93, 100), contains("its header claims 93 bytes"));
  CHECK_NOTHROW(check_header_length(92, 100));
  CHECK_THROWS_WITH(check_header_length(0, 7), contains("it has 7 bytes"));
  CHECK_THAT(error(std::string(10'000'000, '['), 0), contains("not an object"));
  CHECK_THAT(error(R"({"a":{"shape":)" + std::string(10'000'000, '['), 0),
             contains("makes no sense"));
  std::string many = "{";
  for (std::size_t i = 0; i <= kTensorsMax; ++i)
    many += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
            R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  CHECK_THAT(error(many + "}", 0), contains("more than 100000 tensors"));
  std::string notes = R"({"__metadata__":{)";
  for (std::size_t i = 0; i <= kTensorsMax; ++i)
    notes += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":"")";
  CHECK_THAT(error(notes + "}}", 0), contains("more than 100000 notes in its metadata"));
}

}  // namespace
}  // namespace ddprun::sdk
