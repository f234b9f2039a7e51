// Sub-groups, messages between two ranks, and objects. ddprun runs this program on several ranks.

#include "ddprun/objects.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker_sdk/group_fixture.hpp"

namespace ddprun::sdk {
namespace {

using Json = nlohmann::json;

int previous() { return (group().rank() + group().size() - 1) % group().size(); }
int next() { return (group().rank() + 1) % group().size(); }

TEST_CASE("a sub-group reduces over its own ranks only") {
  std::vector<int> even, odd;
  for (int rank = 0; rank < group().size(); ++rank) (rank % 2 == 0 ? even : odd).push_back(rank);
  for (const auto& ranks : {even, odd}) {
    if (ranks.empty()) continue;
    const auto part = group().new_group(ranks);
    const bool member = std::ranges::count(ranks, group().rank()) > 0;
    REQUIRE(part.has_value() == member);
    if (!member) continue;
    CHECK(part->global_ranks() == ranks);
    CHECK(part->global_ranks()[part->rank()] == group().rank());
    const torch::Tensor sum = torch::tensor(group().rank(), here(torch::kInt64));
    part->all_reduce(sum);
    CHECK(sum.item<int>() == std::accumulate(ranks.begin(), ranks.end(), 0));
    const torch::Tensor from_last = torch::tensor(group().rank(), here(torch::kInt64));
    part->broadcast(from_last, part->size() - 1);  // a rank of the sub-group
    CHECK(from_last.item<int>() == ranks.back());
    part->monitored_barrier();
  }
}

TEST_CASE("a sub-group has sub-groups of its own, and ranks may be named in any order") {
  std::vector<int> all(group().size());
  std::iota(all.rbegin(), all.rend(), 0);
  const auto whole = group().new_group(all, {.name = "everybody"});
  REQUIRE(whole.has_value());
  CHECK(whole->name() == "everybody");
  CHECK(whole->rank() == group().rank());
  whole->barrier();  // a rank that leaves before another has joined breaks off its connection
  const auto last = whole->new_group({whole->size() - 1});
  REQUIRE(last.has_value() == (group().rank() == group().size() - 1));
  if (!last) return;
  CHECK(last->size() == 1);
  CHECK(last->rank() == 0);
  CHECK(last->global_ranks() == std::vector{group().size() - 1});
  last->barrier();
}

TEST_CASE("groups that share ranks can be used at the same time") {
  std::vector<int> all(group().size());
  std::iota(all.begin(), all.end(), 0);
  const auto a = group().new_group(all);
  const auto b = group().new_group(all);
  const torch::Tensor in_a = torch::ones({1000}, here());
  const torch::Tensor in_b = torch::ones({1000}, here());
  const Work first = a->all_reduce_async(in_a);
  const Work second = b->all_reduce_async(in_b, ReduceOp::PRODUCT);
  second.wait();
  first.wait();
  CHECK(in_a[0].item<int>() == group().size());
  CHECK(in_b[0].item<int>() == 1);
}

TEST_CASE(
    "all can meet again in the launcher's store, which still has the keys of the first time") {
  for (int i = 0; i < 3; ++i) {
    const ProcessGroup again = init_process_group({.backend = test_backend()});
    const torch::Tensor sum = torch::tensor(1, here(torch::kInt64));
    again.all_reduce(sum);
    CHECK(sum.item<int>() == group().size());
  }
}

TEST_CASE("messages go round a ring: send and recv") {
  if (too_few_ranks(2)) return;
  const torch::Tensor token = torch::zeros({1}, here(torch::kInt64));
  if (group().rank() == 0) {
    group().send(token + 1, next());
    CHECK(group().recv(token, previous()) == previous());
    CHECK(token.item<int>() == group().size());
  } else {
    CHECK(group().recv(token, previous()) == previous());
    group().send(token + 1, next());
  }
}

TEST_CASE("isend and irecv, one by one or as a batch, do not block one another") {
  if (too_few_ranks(2)) return;
  const torch::Tensor mine = torch::full({1000}, group().rank(), here(torch::kInt64));
  const torch::Tensor got = torch::full({1000}, -1, here(torch::kInt64));
  if (!nccl_lacks("order between messages that are not one batch")) {
    const Work sending = group().isend(mine, next());
    group().irecv(got, previous()).wait();
    sending.wait();
    CHECK(torch::equal(got, torch::full({1000}, previous(), here(torch::kInt64))));
  }

  const torch::Tensor back = torch::full({1000}, -1, here(torch::kInt64));
  wait_all(group().batch_isend_irecv(
      {{P2POp::Kind::kSend, mine, previous()}, {P2POp::Kind::kRecv, back, next()}}));
  CHECK(torch::equal(back, torch::full({1000}, next(), here(torch::kInt64))));
}

TEST_CASE("tags keep messages apart") {
  if (too_few_ranks(2) || nccl_lacks("tags")) return;
  const torch::Tensor one = torch::tensor(1, here(torch::kInt64));
  const torch::Tensor two = torch::tensor(2, here(torch::kInt64));
  if (group().rank() == 0) {
    CHECK_NOTHROW(wait_all({group().isend(one, 1, 1), group().isend(two, 1, 2)}));
  } else if (group().rank() > 1) {
    SUCCEED("two ranks are enough");
  } else {
    group().recv(one, 0, 2);
    group().recv(two, 0, 1);
    CHECK(one.item<int>() == 2);
    CHECK(two.item<int>() == 1);
  }
}

TEST_CASE("a message is taken from any sender, which is then known") {
  if (too_few_ranks(2) || nccl_lacks("messages from anybody")) return;
  if (group().rank() > 0) {
    CHECK_NOTHROW(group().send(torch::tensor(10 * group().rank(), here(torch::kInt64)), 0, 7));
    return;
  }
  std::set<int> senders;
  for (int i = 1; i < group().size(); ++i) {
    const torch::Tensor got = torch::tensor(0, here(torch::kInt64));
    const int sender = group().recv(got, kAnySource, 7);
    CHECK(got.item<int>() == 10 * sender);
    senders.insert(sender);
  }
  CHECK(static_cast<int>(senders.size()) == group().size() - 1);
}

TEST_CASE("a receiver that asks whether it is done learns of it, and one that gives up can leave") {
  if (too_few_ranks(2)) return;
  const torch::Tensor number = torch::tensor(group().rank(), here(torch::kInt64));
  if (group().rank() != 1) {
    CHECK_NOTHROW(group().rank() == 0 ? group().send(number, 1, 8) : void());
    return;
  }
  const Work work = group().irecv(number, 0, 8);
  while (!work.is_completed()) std::this_thread::yield();
  work.wait();
  CHECK(number.item<int>() == 0);
}

TEST_CASE("an object is broadcast, whatever it is") {
  const Json value{{"text", "Grüße"},
                   {"list", {1, 2.5, nullptr, true}},
                   {"big", 1ULL << 63},
                   {"nothing", Json::object()}};
  Json object = group().rank() == 0 ? value : Json{"something", "else"};
  broadcast_object(group(), object);
  CHECK(object == value);
  Json nan = group().rank() == 0 ? std::nan("") : 1.0;
  broadcast_object(group(), nan);
  CHECK(std::isnan(nan.get<double>()));
}

TEST_CASE("objects of different sizes are gathered and scattered") {
  const auto of_rank = [](int rank) {
    return Json{{"rank", rank}, {"text", std::string(1000 * rank, 'x')}};
  };
  const auto all = all_gather_object(group(), of_rank(group().rank()));
  REQUIRE(static_cast<int>(all.size()) == group().size());
  for (int rank = 0; rank < group().size(); ++rank) CHECK(all[rank] == of_rank(rank));

  const int root = group().size() - 1;
  const auto gathered = gather_object(group(), of_rank(group().rank()), root);
  CHECK(gathered == (group().rank() == root ? all : std::vector<Json>{}));
  CHECK(scatter_object(group(), group().rank() == root ? all : std::vector<Json>{}, root) ==
        of_rank(group().rank()));
}

}  // namespace
}  // namespace ddprun::sdk
