#include "rendezvous/store/init_epochs.hpp"

#include "tests/rendezvous/store/store_fixture.hpp"

using namespace ddprun;

namespace {

const StoreProcess kOne{"10.0.0.1", 101};
const StoreProcess kTwo{"10.0.0.1", 102};
const StoreProcess kThree{"10.0.0.2", 101};

const std::string kAddress0 = "/default_pg/0//cpu//0/0";

struct Ranks : StoreFixture {
  explicit Ranks(std::size_t world_size = 2) { state.epochs = InitEpochs{world_size}; }

  // A connection as init_process_group() makes it.
  StoreSession& init(std::uint32_t pid, const std::string& address = "10.0.0.1") {
    StoreSession& session = client(pid, address);
    answer(session, add("init/", 1));
    return session;
  }
};

}  // namespace

TEST_CASE("every rank's k-th init is in epoch k, whichever is first") {
  InitEpochs epochs{3};
  for (std::uint32_t k = 1; k <= 50; ++k) {
    CHECK(epochs.enter(k % 2 ? kOne : kThree) == k);
    CHECK(epochs.enter(kTwo) == k);
    CHECK(epochs.current(kTwo) == k);
    CHECK(epochs.enter(k % 2 ? kThree : kOne) == k);
  }
  CHECK_FALSE(epochs.sharing());
}

TEST_CASE("a fast rank enters the next epoch while a slow one is still in the last") {
  InitEpochs epochs{2};
  CHECK(epochs.enter(kOne) == 1);
  CHECK(epochs.enter(kTwo) == 1);
  CHECK(epochs.enter(kOne) == 2);
  CHECK(epochs.current(kTwo) == 1);
  CHECK(epochs.enter(kTwo) == 2);
  CHECK_FALSE(epochs.sharing());
}

TEST_CASE("two processes that look like one share an epoch with all others") {
  InitEpochs epochs{3};
  CHECK(epochs.enter(kOne) == 1);
  CHECK(epochs.enter(kOne) == 1);  // another container: the epoch is not full, so no second init
  CHECK(epochs.sharing());
  CHECK(epochs.enter(kTwo) == 1);
  CHECK(epochs.enter(kOne) == 1);
}

TEST_CASE("a process beyond the world's size ends the separation") {
  InitEpochs epochs{2};
  epochs.enter(kOne);
  epochs.enter(kTwo);
  CHECK(epochs.enter(kOne) == 2);
  CHECK(epochs.enter(kThree) == 2);  // a child that stands in for rank two: it meets rank one
  CHECK(epochs.sharing());
  CHECK(epochs.enter(kTwo) == 2);
}

TEST_CASE("an init of fewer ranks than the world's is not counted") {
  InitEpochs epochs{3};
  epochs.enter(kOne);
  epochs.enter(kTwo);
  CHECK(epochs.enter(kOne) == 1);  // a second group of the same two: as in torch's server
  CHECK(epochs.enter(kTwo) == 1);
  CHECK(epochs.enter(kThree) == 1);
}

TEST_CASE("late ranks meet early ones when the separation ends amid an init") {
  InitEpochs epochs{2};
  epochs.enter(kOne);
  epochs.enter(kTwo);
  const std::uint32_t early = epochs.enter(kOne);
  epochs.enter(kThree);
  CHECK(epochs.enter(kTwo) == early);
}

TEST_CASE("processes without a name fill one epoch after the other") {
  const StoreProcess nameless{"10.0.0.1", 0};
  const StoreProcess elsewhere{"10.0.0.2", 0};
  InitEpochs epochs{2};
  for (std::uint32_t k = 1; k <= 50; ++k) {
    CHECK(epochs.enter(nameless) == k);
    CHECK(epochs.enter(k % 2 ? nameless : elsewhere) == k);
  }
  CHECK_FALSE(epochs.sharing());
}

TEST_CASE_METHOD(Ranks, "a second init does not see the first one's addresses") {
  auto& first = init(1);
  answer(first, set(kAddress0, "old"));
  auto& peer = init(2);
  CHECK(answer(peer, wait_for({kAddress0})) == kStop);
  CHECK(answer(peer, get(kAddress0)) == text("old"));

  auto& peer_again = init(2);
  CHECK(answer(peer_again, wait_for({kAddress0})).empty());
  auto& first_again = init(1);
  answer(first_again, set(kAddress0, "new"));
  CHECK(read(peer_again) == kStop);
  CHECK(answer(peer_again, get(kAddress0)) == text("new"));
  CHECK(answer(peer, get(kAddress0)) == text("old"));
  CHECK(answer(peer_again, multi_get({kAddress0, "/other"})) == text("new") + text(""));
}

TEST_CASE_METHOD(Ranks, "torch 2.4's inits do not see each other's addresses, either") {
  const std::string address_0 = "//worker/attempt_12/default_pg/0//cpu//0/0";
  for (const std::string value : {"old", "new"}) {
    auto& first = init(0);
    auto& second = init(0, "10.0.0.2");
    CHECK(answer(second, wait_for({address_0})).empty());
    answer(first, set(address_0, value));
    CHECK(read(second) == kStop);
    CHECK(answer(second, get(address_0)) == text(value));
  }
}

TEST_CASE_METHOD(Ranks, "other keys of a worker's attempt are common to all inits") {
  for (const std::string key :
       {"//worker/attempt_1", "//worker/attempt_1/mine", "//worker/attempt_/default", "/default_pg",
        "//worker/default_pg/"}) {
    answer(init(1), set(key, "old"));
    CHECK(answer(init(1), get(key)) == text("old"));
  }
}

TEST_CASE_METHOD(Ranks, "each epoch lists and counts its own keys and the common ones") {
  for (const std::string value : {"old", "new"}) {
    for (const std::uint32_t pid : {1u, 2u}) {
      auto& session = init(pid);
      answer(session, set(kAddress0, value));
      CHECK(answer(session, count_keys()) == i64(2));
      const std::string listed = answer(session, list_keys());
      CHECK(listed.substr(0, 8) == i64(2));
      CHECK(listed.find(kAddress0) != std::string::npos);
      CHECK(listed.find("init/") != std::string::npos);
    }
  }
}

TEST_CASE_METHOD(Ranks, "a clone belongs to the latest init of its process") {
  for (const std::string value : {"old", "new"}) {
    answer(init(1), set(kAddress0, value));
    answer(init(2), check({kAddress0}));
    auto& clone = client(2);
    CHECK(answer(clone, get(kAddress0)) == text(value));
  }
}

TEST_CASE_METHOD(Ranks, "stores that a worker makes by hand are not counted") {
  auto& by_hand = init(1);  // with a world size, but for keys of its own
  answer(by_hand, set("/mine", "x"));
  auto& first = init(1);
  answer(first, set(kAddress0, "one"));
  auto& unannounced = client(2);
  CHECK(answer(unannounced, get("/mine")) == text("x"));
  auto& second = init(2);
  CHECK(answer(second, get(kAddress0)) == text("one"));
  CHECK_FALSE(state.epochs.sharing());
}

TEST_CASE("without a world size all inits share their keys") {
  StoreFixture fixture;
  auto& session = fixture.client(1);
  fixture.answer(session, add("init/", 1) + set(kAddress0, "old"));
  auto& again = fixture.client(1);
  CHECK(fixture.answer(again, add("init/", 1) + get(kAddress0)) == i64(2) + text("old"));
}

TEST_CASE("the keys of an epoch are erased when all ranks have gone on and closed it") {
  Ranks ranks;
  auto& first = ranks.init(101);
  auto& second = ranks.init(102);
  ranks.answer(first, set(kAddress0, "old") + queue_push(kAddress0, "old"));
  ranks.answer(second, get(kAddress0));
  const std::size_t before = ranks.state.store.budget().bytes_used();
  auto& first_again = ranks.init(101);
  auto& second_again = ranks.init(102);
  ranks.answer(first_again, get(kAddress0));
  ranks.answer(second_again, get(kAddress0));
  CHECK(ranks.answer(second, get(kAddress0)) == text("old"));  // somebody keeps the old store
  first.leave();
  CHECK(ranks.state.store.budget().bytes_used() >= before);
  second.leave();
  CHECK(ranks.state.store.budget().bytes_used() < before);
  CHECK(ranks.answer(first_again, get(kAddress0) + queue_length(kAddress0)) == text("") + i64(0));
}

TEST_CASE("the keys of processes without a name are erased when their next init begins") {
  Ranks ranks;
  const auto init_and_leave = [&](const std::string& value) {
    auto& first = ranks.init(0);
    auto& second = ranks.init(0);
    ranks.answer(first, set(kAddress0, value));
    CHECK(ranks.answer(second, get(kAddress0)) == text(value));
    first.leave();
    second.leave();
    return ranks.state.store.budget().bytes_used();
  };
  const std::size_t used = init_and_leave("1");
  for (const std::string value : {"2", "3", "4"}) CHECK(init_and_leave(value) == used);
}

TEST_CASE("the keys of the newest epoch stay, whichever client closes its connections") {
  Ranks ranks;
  auto& first = ranks.init(101);
  ranks.answer(first, set(kAddress0, "new"));
  first.leave();
  CHECK(ranks.answer(ranks.init(102), get(kAddress0)) == text("new"));
}

TEST_CASE("a new process with the id of an old one does not lose its keys when that leaves") {
  Ranks ranks;
  auto& first = ranks.init(101);
  auto& second = ranks.init(102);
  ranks.answer(first, set(kAddress0, "old"));
  ranks.answer(second, get(kAddress0));
  auto& in_its_place = ranks.init(102);  // the old process is gone, its connection not yet
  ranks.answer(in_its_place, set(kAddress0, "new"));
  auto& first_again = ranks.init(101);
  CHECK(ranks.answer(first_again, get(kAddress0)) == text("new"));
  first.leave();
  CHECK(ranks.answer(second, get(kAddress0)) == text("old"));
  const std::size_t before = ranks.state.store.budget().bytes_used();
  second.leave();  // the last of the first epoch
  CHECK(ranks.state.store.budget().bytes_used() < before);
  CHECK(ranks.answer(in_its_place, get(kAddress0)) == text("new"));
  CHECK(ranks.answer(first_again, get(kAddress0)) == text("new"));
  CHECK(ranks.answer(ranks.client(102), get(kAddress0)) == text("new"));
  CHECK_FALSE(ranks.state.epochs.sharing());
}
