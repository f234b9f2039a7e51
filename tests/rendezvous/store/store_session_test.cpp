#include "rendezvous/store/store_session.hpp"

#include <algorithm>
#include <limits>

#include "tests/rendezvous/store/store_fixture.hpp"

using namespace ddprun;

TEST_CASE_METHOD(StoreFixture, "the handshake is answered with the nonce") {
  auto& session = stranger();
  CHECK_FALSE(session.validated());
  CHECK(answer(session, validate() + ping(0x2305)) == std::string{"\x05\x23\0\0", 4});
  CHECK(session.validated());
}

TEST_CASE_METHOD(StoreFixture, "pipelined requests are answered in order") {
  auto& session = stranger();
  CHECK(answer(session, validate() + ping(1) + ping(2) + ping(3) + count_keys()) ==
        raw(std::uint32_t{1}) + raw(std::uint32_t{2}) + raw(std::uint32_t{3}) + i64(0));
}

TEST_CASE_METHOD(StoreFixture, "every operation replies with the bytes of torch's server") {
  auto& session = client();
  CHECK(answer(session, set("/a", "xyz")).empty());
  CHECK(answer(session, wait_for({"/a"})) == kStop);
  CHECK(answer(session, get("/a")) == text("xyz"));
  CHECK(answer(session, get("/missing")) == text(""));
  CHECK(answer(session, add("/n", 5)) == i64(5));
  CHECK(answer(session, compare_set("/a", "xyz", "new")) == text("new"));
  CHECK(answer(session, compare_set("/missing", "x", "y")) == text("x"));
  CHECK(answer(session, check({"/a", "/n"})) == kStop);
  CHECK(answer(session, check({"/a", "/missing"})) == kCancelled);
  CHECK(answer(session, check({})) == kStop);
  CHECK(answer(session, wait_for({})) == kStop);
  CHECK(answer(session, append("/a", "er")).empty());
  CHECK(answer(session, multi_get({"/a", "/missing", "/n"})) ==
        text("newer") + text("") + text("5"));
  CHECK(answer(session, multi_set({{"/p", "1"}, {"/q", "2"}})).empty());
  CHECK(answer(session, count_keys()) == i64(4));
  CHECK(answer(session, delete_key("/p")) == i64(1));
  CHECK(answer(session, delete_key("/p")) == i64(0));
  CHECK(answer(session, queue_push("/a", "v")).empty());
  CHECK(answer(session, queue_length("/a")) == i64(1));
  CHECK(answer(session, queue_pop("/a")) == i64(1) + text("v"));
  CHECK(answer(session, queue_pop("/a")) == i64(0));
  CHECK(answer(session, barrier("/b", 1)) == kStop);
  for (const char* key : {"/n", "/q", "/b"}) answer(session, delete_key(key));
  CHECK(answer(session, list_keys()) == i64(1) + text("/a"));
}

TEST_CASE_METHOD(StoreFixture, "requests may be split anywhere") {
  const std::string all = validate() + ping(9) + set("/a", "x") + add("/n", 1) +
                          multi_set({{"/b", "1"}, {"/c", "2"}}) + multi_get({"/a", "/b", "/c"}) +
                          wait_for({"/a"}) + cancel_wait() + count_keys();
  const std::string expected = raw(std::uint32_t{9}) + i64(1) + text("x") + text("1") + text("2") +
                               kStop + kCancelled + i64(4);
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    state.store.clear();
    auto& session = stranger();
    const std::string first = answer(session, std::string_view{all}.substr(0, cut));
    REQUIRE(first + answer(session, std::string_view{all}.substr(cut)) == expected);
  }
  state.store.clear();
  auto& session = stranger();
  std::string replies;
  for (const char byte : all) replies += answer(session, {&byte, 1});
  CHECK(replies == expected);
}

TEST_CASE_METHOD(StoreFixture, "a wait is answered when another client writes the key") {
  auto& waiter = client();
  auto& writer = client();
  CHECK(answer(waiter, wait_for({"/a", "/b"})).empty());
  CHECK(answer(waiter, ping(5)) == raw(std::uint32_t{5}));  // others are served meanwhile
  answer(writer, set("/a", ""));
  CHECK(read(waiter).empty());
  answer(writer, append("/b", ""));
  CHECK(read(waiter) == kStop);
}

TEST_CASE_METHOD(StoreFixture, "10,000 waiters for one key are woken by its one write") {
  constexpr std::size_t kWaiters = 10'000;
  auto& writer = client();
  bool silent = true;  // one check at the end: 10,000 of Catch2's would take longer than the rest
  for (std::size_t i = 0; i < kWaiters; ++i) {
    StoreSession& waiter = stranger();
    silent = silent && waiter.received(validate() + wait_for({"/go"})).has_value() &&
             waiter.output().empty();
  }
  CHECK(silent);
  REQUIRE(writer.received(set("/go", "")).has_value());
  const std::vector<ClientId> ready = state.store.take_ready();
  CHECK(ready.size() == kWaiters);
  CHECK(std::is_sorted(ready.begin(), ready.end()));  // the oldest first
  bool woken = true;
  for (const ClientId id : ready) {
    sessions[id - 1]->settle();
    woken = woken && sessions[id - 1]->output() == kStop;
  }
  CHECK(woken);
  CHECK_FALSE(state.store.has_ready());
}

TEST_CASE_METHOD(StoreFixture, "a cancel is always answered, once") {
  auto& waiter = client();
  auto& writer = client();
  CHECK(answer(waiter, cancel_wait()) == kCancelled);
  answer(waiter, wait_for({"/a"}));
  CHECK(answer(waiter, cancel_wait()) == kCancelled);
  answer(writer, set("/a", ""));
  CHECK(read(waiter).empty());
}

TEST_CASE_METHOD(StoreFixture, "a cancel that crosses the release comes after it") {
  auto& waiter = client();
  auto& writer = client();
  answer(waiter, wait_for({"/a"}));
  answer(writer, set("/a", ""));
  CHECK(answer(waiter, cancel_wait()) == kStop + kCancelled);
}

TEST_CASE_METHOD(StoreFixture, "a client may release itself") {
  auto& session = client();
  CHECK(answer(session, wait_for({"/a"}) + set("/a", "x") + cancel_wait() + wait_for({"/b"}) +
                            get("/a")) == kStop + kCancelled + text("x"));
  CHECK(answer(session, set("/b", "")) == kStop);
}

TEST_CASE_METHOD(StoreFixture, "a barrier is waited for and cancelled like a wait") {
  auto& first = client();
  auto& second = client();
  CHECK(answer(first, barrier("/b", 2)).empty());
  CHECK(answer(second, barrier("/b", 2)) == kStop);
  CHECK(read(first) == kStop);
  CHECK(answer(first, barrier("/c", 9)).empty());
  CHECK(answer(first, cancel_wait()) == kCancelled);
}

TEST_CASE_METHOD(StoreFixture, "who has left is not woken") {
  auto& waiter = client();
  auto& writer = client();
  answer(waiter, wait_for({"/a"}));
  REQUIRE(state.store.waits(waiter.id()));
  waiter.leave();
  CHECK_FALSE(state.store.waits(waiter.id()));
  CHECK(state.store.budget().bytes_used() == 0);
  REQUIRE(writer.received(set("/a", "")).has_value());
  CHECK_FALSE(state.store.has_ready());
  waiter.settle();
  CHECK(read(waiter).empty());
}

TEST_CASE_METHOD(StoreFixture, "a client that does not begin with VALIDATE must go") {
  CHECK(refusal(stranger(), "GET / HTTP/1.1\r\n") ==
        "does not speak the store's protocol; it began with 'GET / HTTP/1.1\\x0d\\x0a'");
  CHECK(refusal(stranger(), "\x16\x03\x01") ==
        "does not speak the store's protocol; it began with '\\x16\\x03\\x01'");
  CHECK(refusal(stranger(), ping(1)).find("does not speak the store's protocol") == 0);
  CHECK(refusal(stranger(), std::string{"\0\1\2\3\4", 5}) == "sent VALIDATE with a wrong number");
  CHECK(refusal(client(), validate()) == "sent VALIDATE a second time");
  CHECK(refusal(client(), "\x42") == "unknown operation code 66");
}

TEST_CASE_METHOD(StoreFixture, "an ADD to what is not a number must go") {
  auto& session = client();
  answer(session, set("/n", "many"));
  CHECK(refusal(session, add("/n", 1)) == "ADD to key '/n', whose value 'many' is not a number");
}

TEST_CASE_METHOD(StoreFixture, "the longest key and value are served, longer ones refused") {
  auto& session = client();
  const std::string key(8192, 'k');
  const std::string value(std::size_t{8} << 20, 'v');
  answer(session, set(key, value));
  CHECK((answer(session, get(key)) == text(value)));
  CHECK_THAT(refusal(client(), get(key + "k")), contains("a key of 8193 bytes"));
  CHECK_THAT(refusal(client(), set(key, value + "v")), contains("a value of 8388609 bytes"));
}

TEST_CASE_METHOD(StoreFixture, "a lying length does not make the inbox grow") {
  auto& session = client();
  answer(session, request(0x01, {text("/a"), raw(std::uint64_t{8} << 20), "some"}));
  CHECK(session.buffer().size() <= 128 * 1024);
}

TEST_CASE_METHOD(StoreFixture, "a request in many small pieces takes linear time") {
  auto& session = client();
  std::string bytes = request(0x0b, {i64(131'072)});
  for (int i = 0; i < 131'072; ++i) bytes += text("/" + std::to_string(i)) + text("v");
  bool accepted = true;  // one check at the end: 40,000 of Catch2's would take longer than the rest
  for (std::size_t at = 0; at < bytes.size(); at += 64) {
    accepted = accepted && session.received(std::string_view{bytes}.substr(at, 64)).has_value();
  }
  CHECK(accepted);
  CHECK(answer(session, count_keys()) == i64(131'072));
}

TEST_CASE("a client that does not read is not served further") {
  StoreLimits limits;
  limits.unread_bytes_max = 100;
  StoreFixture fixture{limits};
  auto& session = fixture.client();
  std::string pings;
  for (std::uint32_t i = 0; i < 100; ++i) pings += ping(i);
  REQUIRE(session.received(pings).has_value());
  CHECK(session.output().size() == 100);
  CHECK(session.paused());
  std::string replies = fixture.read(session);
  while (session.paused()) {
    REQUIRE(session.proceed().has_value());
    replies += fixture.read(session);
  }
  CHECK(replies.size() == 400);
}

TEST_CASE("a reply as a whole is limited") {
  StoreLimits limits;
  limits.reply_bytes_max = 100;
  StoreFixture fixture{limits};
  const std::string too_long = "asked for a reply of more than the 100 bytes allowed";
  auto& session = fixture.client();
  SECTION("of the values of MULTI_GET, each with its length in 8 bytes") {
    fixture.answer(session, set("/a", std::string(42, 'x')) + set("/b", std::string(43, 'x')));
    CHECK(fixture.answer(session, multi_get({"/a", "/a"})).size() == 100);
    CHECK(fixture.refusal(session, multi_get({"/a", "/b"})) == too_long);
  }
  SECTION("of the names of LIST_KEYS, with their number") {
    fixture.answer(session, set(std::string(84, 'a'), ""));
    CHECK(fixture.answer(session, list_keys()).size() == 100);
    fixture.answer(session, delete_key(std::string(84, 'a')) + set(std::string(85, 'a'), ""));
    CHECK(fixture.refusal(session, list_keys()) == too_long);
  }
  SECTION("not counting what has not been read of earlier ones") {
    fixture.answer(session, set("/a", std::string(92, 'x')));
    CHECK(fixture.answer(session, multi_get({"/a"}) + multi_get({"/a"})).size() == 200);
  }
}

TEST_CASE("what big requests and unread replies take counts as the store's memory") {
  StoreLimits limits;
  limits.memory_bytes_max = 1 << 20;
  StoreFixture fixture{limits};
  auto& session = fixture.client();
  const std::string half = request(0x01, {text("/a"), raw(std::uint64_t{4} << 20)});
  fixture.answer(session, half);
  CHECK(fixture.refusal(session, std::string(3 << 20, 'x')).find("the store is full") == 0);
  session.leave();
  CHECK(fixture.state.store.budget().bytes_used() == 0);
}
