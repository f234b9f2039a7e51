#include "rendezvous/store/store_protocol.hpp"

#include "tests/rendezvous/store/store_fixture.hpp"

using namespace ddprun;
using Progress = RequestScanner::Progress;

namespace {

const StoreLimits kLimits;

const std::vector<std::string> kEveryRequest = {
    validate(),
    set("/a", "xyz"),
    compare_set("/a", "x", "yy"),
    get("/a"),
    add("/n", -7),
    check({"/a", "/b"}),
    wait_for({"/a", "", "/c"}),
    count_keys(),
    delete_key("/a"),
    append("/a", ""),
    multi_get({"/a", "/b"}),
    multi_set({{"/a", "1"}, {"/b", ""}}),
    cancel_wait(),
    ping(77),
    queue_push("/q", "v"),
    queue_pop("/q"),
    queue_length("/q"),
    list_keys(),
    barrier("/b", 4),
    wait_for({}),
    multi_set({}),
};

// How much of a request is read before it is refused, and why.
std::string refusal(const std::string& bytes) {
  RequestScanner scanner{kLimits};
  REQUIRE(scanner.scan(bytes) == Progress::kInvalid);
  return scanner.error().message;
}

bool acceptable(const std::string& start) {
  return RequestScanner{kLimits}.scan(start) == Progress::kMore;
}

}  // namespace

TEST_CASE("every request is found complete exactly with its last byte") {
  for (const std::string& bytes : kEveryRequest) {
    RequestScanner scanner{kLimits};
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      REQUIRE(scanner.scan(std::string_view{bytes}.substr(0, size)) == Progress::kMore);
      REQUIRE(scanner.missing() >= 1);
      REQUIRE(scanner.missing() <= bytes.size() - size);
    }
    REQUIRE(scanner.scan(bytes + "more") == Progress::kComplete);
    CHECK(scanner.size() == bytes.size());
    CHECK(scanner.request(bytes).index() == static_cast<std::size_t>(bytes[0]));
  }
}

TEST_CASE("requests follow one another in one scanner") {
  RequestScanner scanner{kLimits};
  std::string all;
  for (const std::string& bytes : kEveryRequest) all += bytes;
  std::string_view rest = all;
  for (const std::string& bytes : kEveryRequest) {
    REQUIRE(scanner.scan(rest) == Progress::kComplete);
    REQUIRE(scanner.size() == bytes.size());
    CHECK(scanner.request(rest).index() == static_cast<std::size_t>(bytes[0]));
    rest.remove_prefix(scanner.size());
    scanner.restart();
  }
  CHECK(rest.empty());
}

TEST_CASE("a request's arguments are read back") {
  const auto decoded = [](const std::string& bytes) {
    RequestScanner scanner{kLimits};
    REQUIRE(scanner.scan(bytes) == Progress::kComplete);
    return scanner.request(bytes);
  };
  const std::string bytes = compare_set("/a", "x", "yy");
  const auto compared = std::get<store_request::CompareSet>(decoded(bytes));
  CHECK(compared.key == "/a");
  CHECK(compared.expected == "x");
  CHECK(compared.desired == "yy");
  const std::string added = add("/n", -7);
  CHECK(std::get<store_request::Add>(decoded(added)).amount == -7);
  const std::string several = multi_set({{"/a", "1"}, {"/b", ""}});
  const auto pairs = std::get<store_request::MultiSet>(decoded(several)).pairs;
  REQUIRE(pairs.count == 2);
  FieldReader reader = pairs.read();
  for (const char* field : {"/a", "1", "/b", ""}) CHECK(reader.next() == field);
}

TEST_CASE("the worked example of SET is decoded") {
  const std::string bytes{"\x01\x02\0\0\0\0\0\0\0/a\x03\0\0\0\0\0\0\0xyz", 22};
  RequestScanner scanner{kLimits};
  REQUIRE(scanner.scan(bytes) == Progress::kComplete);
  const auto decoded = std::get<store_request::Set>(scanner.request(bytes));
  CHECK(decoded.key == "/a");
  CHECK(decoded.value == "xyz");
}

TEST_CASE("a length is refused as soon as it is there") {
  const auto length = [](std::uint64_t number) { return raw(number); };
  CHECK(acceptable(request(0x03, {length(8192)})));
  CHECK(refusal(request(0x03, {length(8193)})) ==
        "a key of 8193 bytes, more than the 8192 allowed");
  CHECK(acceptable(request(0x01, {text("/a"), length(8 << 20)})));
  CHECK(refusal(request(0x01, {text("/a"), length((8 << 20) + 1)})) ==
        "a value of 8388609 bytes, more than the 8388608 allowed");
  CHECK(refusal(request(0x01, {length(std::uint64_t{1} << 63)})) ==
        "a key of 9223372036854775808 bytes, more than the 8192 allowed");
  CHECK(refusal(request(0x02, {text("/a"), text(""), length(~std::uint64_t{0})})) ==
        "a value of 18446744073709551615 bytes, more than the 8388608 allowed");
}

TEST_CASE("a count is refused as soon as it is there") {
  for (const int code : {0x05, 0x06, 0x0a, 0x0b}) {
    CHECK(acceptable(request(code, {i64(131'072)})));
    CHECK(refusal(request(code, {i64(131'073)})) ==
          "a request for 131073 keys, more than the 131072 allowed");
    CHECK(refusal(request(code, {i64(-1)})) ==
          "a request for 18446744073709551615 keys, more than the 131072 allowed");
  }
}

TEST_CASE("a request as a whole is limited") {
  StoreLimits limits;
  limits.request_bytes_max = 100;
  RequestScanner scanner{limits};
  const std::string begin = request(0x0b, {i64(2), text("/a"), text(std::string(50, 'x'))});
  REQUIRE(scanner.scan(begin) == Progress::kMore);
  const std::string value(100 - begin.size() - text("/b").size() - 8, 'x');
  SECTION("a request of just that many bytes is complete") {
    const std::string longest = begin + text("/b") + text(value);
    REQUIRE(longest.size() == 100);
    CHECK(scanner.scan(longest) == Progress::kComplete);
  }
  SECTION("one more byte is refused as soon as it is announced") {
    const std::string longer = begin + text("/b") + raw(std::uint64_t{value.size() + 1});
    CHECK(scanner.scan(longer) == Progress::kInvalid);
    CHECK(scanner.error().message == "a request of more than the 100 bytes allowed");
  }
}

TEST_CASE("codes beyond the last are unknown") {
  CHECK(refusal("\x13") == "unknown operation code 19");
  CHECK(refusal("\xff") == "unknown operation code 255");
}
