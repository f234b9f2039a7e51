#include "worker_sdk/elastic/membership.hpp"

#include <exception>
#include <type_traits>

#include "tests/support/catch.hpp"
#include "worker_sdk/elastic/meeting.hpp"

namespace ddprun::sdk {

namespace {

using nlohmann::json;

void enter_world(Membership& membership) {
  membership.enter(3);
  membership.begin_training(/*line_round=*/0);
}

void count_step(Membership& membership) {
  membership.begin_update(/*last_part=*/true);
  membership.end_update(/*well=*/true);
}

std::vector<Loaded> loaded(const std::vector<StateName>& names) {
  std::vector<Loaded> members;
  for (const StateName& name : names) members.push_back({name, true, {"model"}});
  return members;
}

std::vector<json> words_of(const std::vector<Loaded>& members) {
  std::vector<json> words;
  for (const Loaded& member : members) words.push_back(word_of(member));
  return words;
}

}  // namespace

TEST_CASE("elastic: a step counts when its update has ended well") {
  Membership member;
  enter_world(member);
  member.begin_update(/*last_part=*/true);
  CHECK(member.name().step == 0);
  CHECK_FALSE(member.is_whole());
  member.end_update(/*well=*/true);
  CHECK(member.name() == StateName{3, 1});
  CHECK(member.is_whole());
}

TEST_CASE("elastic: an update that fails leaves the state torn until another one is loaded") {
  Membership member;
  enter_world(member);
  member.begin_update(true);
  member.end_update(/*well=*/false);
  CHECK_THROWS_WITH(member.require_whole("state_dict()"), contains("the state of step 0 is torn"));
  CHECK_THROWS_WITH(member.begin_update(true), contains("after an update that has failed"));
  member.leave();
  member.load({4, 7});
  CHECK_NOTHROW(member.require_whole("state_dict()"));
  CHECK(member.name() == StateName{4, 7});
}

TEST_CASE("elastic: an update that is refused before it has changed anything leaves all whole") {
  Membership member;
  enter_world(member);
  member.begin_update(true);
  member.drop_update();
  CHECK_NOTHROW(member.require_whole("state_dict()"));
  CHECK(member.name().step == 0);
  CHECK_NOTHROW(member.begin_update(true));
}

TEST_CASE("elastic: an update has its place behind the last part, in a world, in no other update") {
  Membership member;
  CHECK_THROWS_WITH(member.begin_update(true), contains("outside of its world"));
  enter_world(member);
  CHECK_THROWS_WITH(member.begin_update(false), contains("before the last part"));
  member.begin_update(true);
  CHECK_THROWS_WITH(member.begin_update(true), contains("within an update"));
  CHECK_THROWS_WITH(member.require_whole("state_dict()"), contains("in the middle of an update"));
}

TEST_CASE("elastic: one world at a time, and nothing is loaded within it") {
  Membership member;
  enter_world(member);
  CHECK_THROWS_WITH(member.enter(4), contains("within another one"));
  CHECK_THROWS_WITH(member.load({1, 1}), contains("load before"));
}

TEST_CASE("elastic: no update begins once the round has ended, and the error passes all handlers") {
  Membership member;
  enter_world(member);
  member.end_round(3);
  CHECK(member.has_to_leave());
  CHECK_THROWS_AS(member.begin_update(true), WorldChanged);
  CHECK_THROWS_AS(member.require_world("wrap()"), WorldChanged);
  CHECK(member.name().step == 0);
  CHECK(member.is_whole());
  STATIC_REQUIRE_FALSE(std::is_base_of_v<std::exception, WorldChanged>);
}

TEST_CASE("elastic: an update that has begun when the round ends counts") {
  Membership member;
  enter_world(member);
  member.begin_update(true);
  member.end_round(3);
  member.end_update(/*well=*/true);
  CHECK(member.name() == StateName{3, 1});
  CHECK(member.has_to_leave());
}

TEST_CASE("elastic: a round may end before it is entered, and an earlier one ends no later one") {
  Membership member;
  enter_world(member);
  member.end_round(2);
  CHECK_FALSE(member.world_has_ended());
  member.leave();
  member.end_round(4);
  CHECK(member.world_has_ended());
  CHECK_FALSE(member.has_to_leave());
  member.enter(4);
  CHECK_THROWS_AS(member.require_unchanged(), WorldChanged);
  member.leave();
  member.enter(5);
  CHECK_NOTHROW(member.require_unchanged());
}

TEST_CASE("elastic: who is held answers with the steps that it has counted, again and again") {
  Membership member;
  enter_world(member);
  count_step(member);
  CHECK_FALSE(member.is_held());
  CHECK(member.hold(3) == 1);
  CHECK(member.is_held());
  CHECK_FALSE(member.world_has_ended());
  CHECK_THROWS_WITH(member.begin_update(true), contains("while its world is held"));
  CHECK(member.hold(3) == 1);
  member.leave_after(3, 2);
  count_step(member);
  CHECK(member.hold(3) == 1);
}

TEST_CASE("elastic: an update that has begun is in the answer of a held worker, and counts") {
  Membership member;
  enter_world(member);
  member.begin_update(true);
  CHECK(member.hold(3) == 1);
  member.end_update(/*well=*/true);
  CHECK(member.name().step == 1);
  CHECK(member.is_held());
  CHECK(member.hold(3) == 1);
}

TEST_CASE("elastic: nobody is held behind its loop, nor in a round that it trains in no more") {
  Membership member;
  member.enter(3);
  CHECK(member.hold(2) == kNotHeld);
  CHECK(member.begin_training(/*line_round=*/0) == std::nullopt);
  CHECK(member.hold(2) == kNotHeld);
  CHECK(member.end_loop());
  CHECK(member.place() == Membership::Place::kEnding);
  CHECK(member.hold(3) == kNotHeld);
  CHECK(member.hold(4) == kNotHeld);
  member.leave();
  CHECK(member.hold(2) == kNotHeld);
  CHECK(member.hold(3) == kNotHeld);
  CHECK_FALSE(member.is_held());
  CHECK_FALSE(member.world_has_ended());
}

TEST_CASE("elastic: who is asked before it trains in that round answers when it begins to") {
  const auto [before, within] = GENERATE(table<int, int>({{1, 0}, {0, 1}, {2, 2}}));
  CAPTURE(before, within);
  Membership member;
  for (int i = 0; i < before; ++i) CHECK(member.hold(3) == std::nullopt);
  member.enter(3);
  for (int i = 0; i < within; ++i) CHECK(member.hold(3) == std::nullopt);
  CHECK_FALSE(member.is_held());
  CHECK_NOTHROW(member.require_unchanged());
  member.load({2, 7});
  CHECK(member.begin_training(/*line_round=*/2) == 7);
  CHECK(member.is_held());
  CHECK(member.hold(3) == 7);
  member.leave_after(3, 8);
  count_step(member);
  CHECK(member.leaves_in_order());
}

TEST_CASE("elastic: an answer is owed about the round that was asked for, and once") {
  Membership member;
  enter_world(member);
  member.leave();
  CHECK(member.hold(5) == std::nullopt);
  member.enter(4);
  CHECK(member.hold(3) == kNotHeld);
  CHECK(member.begin_training(/*line_round=*/3) == std::nullopt);
  CHECK_FALSE(member.is_held());
  member.leave();
  member.enter(5);
  CHECK(member.begin_training(/*line_round=*/4) == 0);
  member.leave();
  member.enter(5);  // as a program does that enters its worlds again
  CHECK(member.begin_training(/*line_round=*/5) == std::nullopt);
}

TEST_CASE("elastic: an order to leave takes the place of an answer that is owed") {
  const bool asked_within = GENERATE(false, true);
  CAPTURE(asked_within);
  Membership member;
  if (asked_within) member.enter(3);
  CHECK(member.hold(3) == std::nullopt);
  member.end_round(3);
  CHECK(member.hold(3) == kNotHeld);
  if (!asked_within) member.enter(3);
  CHECK_THROWS_AS(member.require_unchanged(), WorldChanged);
  CHECK(member.begin_training(/*line_round=*/0) == std::nullopt);
  CHECK_FALSE(member.is_held());
}

TEST_CASE("elastic: who loses its agent leaves where it is held, and owes no answer") {
  Membership member;
  member.enter(3);
  member.hold(3);
  member.end_hold();
  CHECK(member.begin_training(/*line_round=*/0) == std::nullopt);
  CHECK_FALSE(member.is_held());
  CHECK_FALSE(member.has_to_leave());
  member.hold(3);
  member.end_hold();
  CHECK_FALSE(member.is_held());
  CHECK(member.has_to_leave());
}

TEST_CASE("elastic: who needs its number of workers refuses another one, and else any will do") {
  Membership faithful{/*resize=*/false};
  faithful.require_size(4);
  CHECK_NOTHROW(faithful.require_size(4));
  CHECK_THROWS_WITH(faithful.require_size(3), contains("a world of 3 workers follows one of 4"));
  CHECK_THROWS_WITH(faithful.require_size(5), contains("restart all of them"));
  Membership any;
  for (const int size : {4, 3, 5}) CHECK_NOTHROW(any.require_size(size));
}

TEST_CASE("elastic: who is held goes on to the limit, and leaves behind it in order") {
  Membership member;
  enter_world(member);
  member.hold(3);
  member.leave_after(3, 2);
  CHECK_FALSE(member.is_held());
  count_step(member);
  CHECK_FALSE(member.has_to_leave());
  count_step(member);
  CHECK(member.has_to_leave());
  CHECK(member.leaves_in_order());
  CHECK_THROWS_AS(member.require_world("World::next()"), WorldChanged);
  CHECK_THROWS_AS(member.begin_update(true), WorldChanged);
  CHECK(member.name().step == 2);
  member.leave();
  CHECK(member.world_has_ended());
  CHECK_FALSE(member.has_to_leave());
}

TEST_CASE("elastic: an update that does not count does not come to the limit") {
  Membership member;
  enter_world(member);
  member.hold(3);
  member.leave_after(3, 1);
  member.begin_update(true);
  member.drop_update();
  CHECK_FALSE(member.world_has_ended());
  member.begin_update(true);
  member.end_update(/*well=*/false);
  CHECK_FALSE(member.world_has_ended());
}

TEST_CASE("elastic: a limit is passed over if a worker is not held, or in another round") {
  Membership member;
  enter_world(member);
  member.leave_after(3, 1);
  member.hold(3);
  member.leave_after(2, 1);
  CHECK(member.is_held());
  member.leave_after(3, 2);
  count_step(member);
  CHECK_FALSE(member.world_has_ended());
}

TEST_CASE("elastic: an order to leave ends a hold, and goes before a limit") {
  Membership member;
  enter_world(member);
  member.hold(3);
  member.end_round(3);
  CHECK_FALSE(member.is_held());
  CHECK_THROWS_AS(member.begin_update(true), WorldChanged);
  CHECK_FALSE(member.leaves_in_order());
  member.leave_after(3, 0);
  CHECK(member.has_to_leave());
  CHECK_FALSE(member.leaves_in_order());
}

TEST_CASE(
    "elastic: a held worker whose loop is over leaves in order, and finishes in the next one") {
  Membership member;
  enter_world(member);
  member.hold(3);
  CHECK_FALSE(member.end_loop());
  CHECK(member.has_to_leave());
  CHECK(member.leaves_in_order());
  CHECK_FALSE(member.is_held());
  member.leave();
  member.enter(4);
  member.begin_training(/*line_round=*/3);
  CHECK(member.end_loop());
}

TEST_CASE("elastic: the hold and the limit of a world are forgotten in the next one") {
  Membership member;
  enter_world(member);
  member.hold(3);
  member.leave_after(3, 1);
  count_step(member);
  member.leave();
  member.enter(4);
  CHECK_FALSE(member.world_has_ended());
  CHECK_FALSE(member.leaves_in_order());
  member.begin_training(/*line_round=*/3);
  count_step(member);
  CHECK_FALSE(member.is_held());
  CHECK_FALSE(member.has_to_leave());
  CHECK(member.hold(4) == 2);
}

TEST_CASE(
    "elastic: what follows is named by its round, also in a later job that begins with round 1") {
  Membership member;
  member.load({9, 700});
  member.enter(4);
  member.begin_training(/*line_round=*/9);
  CHECK(member.name() == StateName{10, 700});
}

TEST_CASE(
    "elastic: the greatest step of the latest round is the line, and who has another lacks it") {
  const auto of_one_round = choose_line(loaded({{1, 4}, {1, 7}, {1, 0}, {1, 7}}));
  REQUIRE(of_one_round);
  CHECK(of_one_round->name == StateName{1, 7});
  CHECK(of_one_round->sources == std::vector{1, 3});
  CHECK(of_one_round->lacking == std::vector{0, 2});
  const auto of_two = choose_line(loaded({{3, 813}, {4, 812}, {4, 811}}));
  REQUIRE(of_two);
  CHECK(of_two->name == StateName{4, 812});
  CHECK(of_two->sources == std::vector{1});
  const auto of_all = choose_line(loaded({{1, 5}, {1, 5}}));
  REQUIRE(of_all);
  CHECK(of_all->lacking.empty());
}

TEST_CASE("elastic: a torn state is no line, and its owner lacks it") {
  auto members = loaded({{2, 7}, {2, 7}});
  members[0].whole = false;
  CHECK(choose_line(members).value().name == StateName{2, 7});
  CHECK(choose_line(members).value().lacking == std::vector{0});
  members[1].name = {2, 5};  // a newcomer, from a checkpoint
  CHECK_FALSE(choose_line(members));
  members.pop_back();
  CHECK_FALSE(choose_line(members));
  CHECK(decide_line(words_of(members)).at("refused") ==
        "no worker has a whole state of the last step: an update has failed on all that had it");
}

TEST_CASE("elastic: members agree on the line in words that come back as they were") {
  const Line line = line_of(decide_line(words_of(loaded({{1, 7}, {1, 7}, {1, 7}, {0, 0}}))));
  CHECK(line.name == StateName{1, 7});
  CHECK(line.sources == std::vector{0, 1});  // more do not have to try
  CHECK(line.lacking == std::vector{3});
}

TEST_CASE("elastic: members that keep other parts get an error") {
  auto members = loaded({{0, 0}, {1, 3}});
  CHECK(differing_parts(members).empty());
  members[1].parts = {"ema", "model"};
  CHECK(decide_line(words_of(members)).at("refused") ==
        "rank 1 keeps the parts ema, model, and rank 0 keeps model: all workers run the same "
        "program");
}

TEST_CASE("elastic: digests are equal if all that have one have the same") {
  CHECK(decide_digests({nullptr, "a", "a"}).at("equal") == true);
  CHECK(decide_digests({nullptr, "a", "b"}).at("equal") == false);
  CHECK(decide_digests({nullptr, nullptr}).at("equal") == false);
}

TEST_CASE(
    "elastic: members that begin with different states get an error that names who has which") {
  CHECK(decide_whether_states_differ({"a", "a"}).empty());
  const std::string refusal = decide_whether_states_differ({"a", "b", "a"}).at("refused");
  CHECK_THAT(refusal, contains("by rank: 0, 2; 1."));
}

}  // namespace ddprun::sdk
