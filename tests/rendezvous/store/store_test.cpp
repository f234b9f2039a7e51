#include "rendezvous/store/store.hpp"

#include <chrono>
#include <limits>
#include <numeric>

#include "tests/support/catch.hpp"
#include "tests/support/failing_memory.hpp"

using namespace ddprun;

namespace {

struct TableFixture {
  Store store{std::size_t{1} << 20};

  bool wait(ClientId client, std::vector<StoreKey> keys) {
    const auto over = store.wait(client, keys);
    REQUIRE(over.has_value());
    return *over;
  }
  void set(std::string_view key, std::string_view value) {
    REQUIRE(store.set({key}, value).has_value());
  }
  std::string compare_set(std::string_view key, std::string_view expected,
                          std::string_view desired) {
    const auto now = store.compare_set({key}, expected, desired);
    REQUIRE(now.has_value());
    return std::string{*now};
  }
  std::vector<ClientId> ready() { return store.take_ready(); }
};

using Clients = std::vector<ClientId>;

}  // namespace

TEST_CASE_METHOD(TableFixture, "a value is what was set last, and may be empty") {
  CHECK_FALSE(store.get({"a"}));
  set("a", "one");
  set("a", "a much longer value than before");
  CHECK(store.get({"a"}) == "a much longer value than before");
  set("a", "");
  CHECK(store.get({"a"}) == "");
  CHECK(store.key_count(0) == 1);
}

TEST_CASE_METHOD(TableFixture, "the same name in another space is another key") {
  REQUIRE(store.set({"a", 0}, "common").has_value());
  REQUIRE(store.set({"b", 1}, "of one").has_value());
  REQUIRE(store.set({"b", 2}, "of two").has_value());
  CHECK(store.get({"b", 1}) == "of one");
  CHECK(store.get({"b", 2}) == "of two");
  CHECK_FALSE(store.get({"b", 0}));
  CHECK(store.key_count(0) == 1);
  CHECK(store.key_count(1) == 2);
  std::size_t seen = 0;
  store.visit_keys(2, [&](std::string_view) { ++seen; });
  CHECK(seen == 2);
}

TEST_CASE_METHOD(TableFixture, "compare_set answers as torch's server does") {
  SECTION("a missing key is created when nothing is expected") {
    CHECK(compare_set("a", "", "new") == "new");
    CHECK(store.get({"a"}) == "new");
  }
  SECTION("a missing key is not created otherwise, and the answer is what was expected") {
    CHECK(compare_set("a", "old", "new") == "old");
    CHECK_FALSE(store.get({"a"}));
  }
  SECTION("an equal value is replaced") {
    set("a", "old");
    CHECK(compare_set("a", "old", "new") == "new");
    CHECK(store.get({"a"}) == "new");
  }
  SECTION("another value stays") {
    set("a", "other");
    CHECK(compare_set("a", "old", "new") == "other");
    CHECK(store.get({"a"}) == "other");
  }
  SECTION("an empty value is equal to an empty expectation") {
    set("a", "");
    CHECK(compare_set("a", "", "new") == "new");
  }
}

TEST_CASE_METHOD(TableFixture, "compare_set wakes exactly when the key comes into being") {
  CHECK_FALSE(wait(1, {{"a"}}));
  compare_set("a", "old", "new");
  CHECK(ready().empty());
  compare_set("a", "", "new");
  CHECK(ready() == Clients{1});
}

TEST_CASE_METHOD(TableFixture, "add counts in decimal text") {
  CHECK(store.add({"n"}, 5).value() == 5);
  CHECK(store.add({"n"}, -7).value() == -2);
  CHECK(store.get({"n"}) == "-2");
  CHECK(store.add({"zero"}, 0).value() == 0);
  CHECK(store.get({"zero"}) == "0");
}

TEST_CASE_METHOD(TableFixture, "add reads what it finds leniently") {
  const auto plus_one = [&](std::string_view text) {
    set("n", text);
    return store.add({"n"}, 1);
  };
  CHECK(plus_one(" 12abc").value() == 13);
  CHECK(plus_one("+7").value() == 8);
  CHECK(plus_one("\t-3 ").value() == -2);
  CHECK(plus_one("").has_error());
  CHECK(plus_one("abc").has_error());
  CHECK(plus_one("+-1").has_error());
  CHECK(plus_one("-").has_error());
  CHECK(plus_one("9223372036854775808").has_error());
  CHECK(store.get({"n"}) == "9223372036854775808");
}

TEST_CASE_METHOD(TableFixture, "add wraps around") {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  CHECK(store.add({"n"}, kMax).value() == kMax);
  CHECK(store.add({"n"}, 1).value() == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE_METHOD(TableFixture, "append concatenates and creates") {
  REQUIRE(store.append({"a"}, "x").has_value());
  REQUIRE(store.append({"a"}, "").has_value());
  REQUIRE(store.append({"a"}, "yz").has_value());
  CHECK(store.get({"a"}) == "xyz");
}

TEST_CASE_METHOD(TableFixture, "a wait ends when the last of its missing keys is written") {
  set("present", "");
  CHECK(wait(1, {{"present"}}));
  CHECK(wait(1, {}));
  CHECK_FALSE(wait(1, {{"present"}, {"a"}, {"b"}}));
  set("a", "");
  CHECK(ready().empty());
  CHECK(store.add({"b"}, 0).has_value());
  CHECK(ready() == Clients{1});
  CHECK_FALSE(store.waits(1));
}

TEST_CASE_METHOD(TableFixture, "a key named twice in a wait is written once") {
  CHECK_FALSE(wait(1, {{"a"}, {"a"}}));
  set("a", "");
  CHECK(ready() == Clients{1});
}

TEST_CASE_METHOD(TableFixture, "a key that is deleted again stays ticked off") {
  CHECK_FALSE(wait(1, {{"a"}, {"b"}}));
  set("a", "");
  CHECK(store.erase({"a"}));
  CHECK_FALSE(store.erase({"a"}));
  set("b", "");
  CHECK(ready() == Clients{1});
}

TEST_CASE_METHOD(TableFixture, "a wait that was given up is not answered") {
  CHECK_FALSE(wait(1, {{"a"}, {"b"}}));
  CHECK_FALSE(wait(2, {{"a"}}));
  store.cancel_wait(1);
  store.cancel_wait(1);
  set("a", "");
  set("b", "");
  CHECK(ready() == Clients{2});
}

TEST_CASE_METHOD(TableFixture, "a second wait takes the place of the first") {
  CHECK_FALSE(wait(1, {{"a"}}));
  CHECK_FALSE(wait(1, {{"b"}}));
  set("a", "");
  CHECK(ready().empty());
  set("b", "");
  CHECK(ready() == Clients{1});
}

TEST_CASE_METHOD(TableFixture, "ten thousand waiters on one key are ready in order of arrival") {
  Store big{std::size_t{1} << 30};
  Clients all(10'000);
  std::iota(all.begin(), all.end(), 1);
  const StoreKey key{"go"};
  for (const ClientId client : all) REQUIRE_FALSE(big.wait(client, {&key, 1}).value());
  REQUIRE(big.set(key, "").has_value());
  CHECK(big.take_ready() == all);
  CHECK(big.take_ready().empty());
}

TEST_CASE_METHOD(TableFixture, "queues are first in, first out, beside the keys") {
  const StoreKey key{"q"};
  CHECK(store.queue_pop(key).length_before == 0);
  REQUIRE(store.queue_push(key, "one").has_value());
  REQUIRE(store.queue_push(key, "two").has_value());
  CHECK(store.queue_length(key) == 2);
  CHECK(store.key_count(0) == 0);
  CHECK(store.exists({&key, 1}));
  CHECK_FALSE(store.get(key));
  CHECK_FALSE(store.erase(key));
  const auto popped = store.queue_pop(key);
  CHECK(popped.length_before == 2);
  CHECK(popped.value == "one");
  CHECK(store.queue_pop(key).value == "two");
  CHECK(store.queue_length(key) == 0);
  CHECK_FALSE(store.exists({&key, 1}));
}

TEST_CASE_METHOD(TableFixture, "an element of a queue wakes the oldest who needs nothing else") {
  CHECK_FALSE(wait(1, {{"q"}, {"other"}}));
  CHECK_FALSE(wait(2, {{"q"}}));
  CHECK_FALSE(wait(3, {{"q"}}));
  REQUIRE(store.queue_push({"q"}, "x").has_value());
  CHECK(ready() == Clients{2});
  REQUIRE(store.queue_push({"q"}, "y").has_value());
  CHECK(ready() == Clients{3});
  set("other", "");
  CHECK(ready() == Clients{1});
}

TEST_CASE_METHOD(TableFixture, "a barrier lets everyone go when the last has come") {
  CHECK_FALSE(store.barrier(1, {"b"}, 3).value());
  CHECK_FALSE(store.barrier(2, {"b"}, 3).value());
  set("b", "2");  // the counter is an ordinary key; writing it wakes nobody
  CHECK(ready().empty());
  CHECK(store.barrier(3, {"b"}, 3).value());
  CHECK(ready() == Clients{1, 2});
  CHECK(store.barrier(4, {"b"}, 3).value());
  CHECK(store.get({"b"}) == "4");
}

TEST_CASE_METHOD(TableFixture, "multi_set is done at once, and the last of equal keys counts") {
  CHECK_FALSE(wait(1, {{"a"}, {"b"}}));
  const std::vector<Store::Pair> pairs = {{{"a"}, "1"}, {{"b"}, "2"}, {{"a"}, "3"}};
  REQUIRE(store.multi_set(pairs).has_value());
  CHECK(ready() == Clients{1});
  CHECK(store.get({"a"}) == "3");
}

TEST_CASE("a full store refuses to grow and says so") {
  Store store{1000};
  REQUIRE(store.set({"a"}, std::string(500, 'x')).has_value());
  const auto refused = store.set({"b"}, std::string(500, 'x'));
  REQUIRE(refused.has_error());
  CHECK(refused.error().message.find("the store is full") == 0);
  CHECK(store.append({"a"}, std::string(500, 'x')).has_error());
  CHECK(store.get({"a"}) == std::string(500, 'x'));
  CHECK(store.queue_push({"q"}, std::string(500, 'x')).has_error());
  const std::vector<Store::Pair> pairs = {{{"c"}, "1"}, {{"d"}, std::string_view{"2"}}};
  CHECK(store.multi_set(pairs).has_value());
  const std::string big(400, 'x');
  const std::vector<Store::Pair> too_much = {{{"e"}, big}, {{"f"}, big}};
  CHECK(store.multi_set(too_much).has_error());
  CHECK_FALSE(store.get({"e"}));
  std::vector<StoreKey> awaited(100, StoreKey{"z"});
  CHECK(store.wait(1, awaited).has_error());
  CHECK(store.set({"a"}, "").has_value());  // gives back
  CHECK(store.set({"b"}, std::string(500, 'x')).has_value());
}

TEST_CASE("a budget is spent to its last byte, and no further") {
  StoreBudget budget{100};
  REQUIRE(budget.charge(60).has_value());
  CHECK(budget.charge(41).has_error());
  CHECK(budget.bytes_used() == 60);
  CHECK(budget.change(60, 101).has_error());
  CHECK(budget.bytes_used() == 60);
  REQUIRE(budget.change(60, 100).has_value());
  CHECK(budget.bytes_used() == 100);
  CHECK(budget.charge(0).has_value());
  CHECK(budget.charge(1).has_error());
  REQUIRE(budget.change(100, 99).has_value());
  CHECK(budget.charge(1).has_value());
}

TEST_CASE("the stores of a server share a budget, and none takes more than its own") {
  const auto whole = std::make_shared<StoreBudget>(100);
  StoreBudget one{80, whole};
  {
    StoreBudget other{80, whole};
    CHECK(one.charge(81).has_error());
    REQUIRE(one.charge(60).has_value());
    CHECK(other.charge(41).has_error());
    REQUIRE(other.charge(40).has_value());
    CHECK(one.charge(1).has_error());
    CHECK(one.bytes_used() == 60);
    one.release(10);
    CHECK(other.charge(10).has_value());
  }
  CHECK(whole->bytes_used() == 50);  // a store gives back at its end what it held
}

TEST_CASE("a store for which there is no memory is as it was before") {
  Store store{std::size_t{1} << 30};
  const std::string large(1 << 20, 'x');
  REQUIRE(store.set({"a"}, "old").has_value());
  const std::size_t before = store.budget().bytes_used();
  {
    const NoMemoryBeyond little{1 << 19};
    CHECK_THROWS_AS(store.set({"b"}, large), std::bad_alloc);
    CHECK_THROWS_AS(store.set({"a"}, large), std::bad_alloc);
    CHECK_THROWS_AS(store.append({"a"}, large), std::bad_alloc);
    CHECK_THROWS_AS(store.queue_push({"q"}, large), std::bad_alloc);
  }
  CHECK(store.budget().bytes_used() == before);
  CHECK(store.get({"a"}) == "old");
  CHECK_FALSE(store.get({"b"}).has_value());
  CHECK(store.queue_pop({"q"}).length_before == 0);
}

TEST_CASE("what is taken out of the store is given back to its budget") {
  Store store{std::size_t{1} << 20};
  const std::vector<StoreKey> awaited = {{"x"}, {"y"}};
  for (int i = 0; i < 3; ++i) {
    REQUIRE(store.set({"a"}, "value").has_value());
    for (int j = 0; j < 20; ++j) REQUIRE(store.append({"a"}, "value").has_value());
    REQUIRE(store.queue_push({"q"}, "value").has_value());
    REQUIRE_FALSE(store.wait(1, awaited).value());
    if (i == 0) {
      store.erase({"a"});
      store.queue_pop({"q"});
      store.cancel_wait(1);
    } else {
      store.clear();
    }
    CHECK(store.budget().bytes_used() == 0);
  }
}
