#include "agent/introspection/flight_recorder.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

std::string entry(int sequence, int id, const std::string& group, bool retired) {
  return R"({"collective_seq_id":)" + std::to_string(sequence) +
         R"(,"input_dtypes":["Float"],"input_sizes":[[10]],"is_p2p":false,"pg_id":)" +
         std::to_string(id) + R"(,"process_group":)" + group +
         R"(,"profiling_name":"gloo:all_reduce","retired":)" + (retired ? "true" : "false") +
         R"(,"state":"scheduled"})";
}

std::string trace(const std::string& entries, const std::string& status) {
  return R"({"comm_lib_version":"","entries":[)" + entries +
         R"(],"nccl_comm_state":{},"pg_config":{},"pg_status":{)" + status +
         R"(},"version":"2.10"})";
}

std::string at(const std::string& id, int enqueued, int completed) {
  return "\"" + id + R"(":{"last_completed_collective":")" + std::to_string(completed) +
         R"(","last_enqueued_collective":")" + std::to_string(enqueued) +
         R"(","last_started_collective":"-1"})";
}

const std::string kDefault = R"(["0","default_pg"])";
const std::string kOther = R"(["3","undefined"])";

TEST_CASE("how far each group is, is read by the name that all ranks have for it") {
  GroupNames names;
  const auto groups =
      read_group_progress(trace(entry(7, 0, kDefault, true) + "," + entry(2, 1, kOther, false),
                                at("0", 7, 7) + "," + at("1", 2, 1)),
                          names);
  REQUIRE(groups);
  CHECK(*groups == std::vector<GroupProgress>{{"0", 7, 7}, {"3", 2, 1}});
}

TEST_CASE("a name is known also when the ring has forgotten its entries") {
  GroupNames names;
  read_group_progress(trace(entry(2, 1, kOther, true), at("1", 2, 2)), names);
  CHECK(read_group_progress(trace("", at("1", 2, 2)), names)->front().group == "3");
  GroupNames none;
  CHECK(read_group_progress(trace("", at("1", 2, 2)), none)->front().group == "1");
}

/// An entry of a collective, or of a message between two ranks, entered that many µs after 1970.
std::string entered(std::int64_t sequence, const std::string& group, std::int64_t at_us,
                    bool is_message = false, std::int64_t operations = 0) {
  return R"({"collective_seq_id":)" + std::to_string(sequence) + R"(,"is_p2p":)" +
         (is_message ? "true" : "false") + R"(,"pg_id":0,"process_group":)" + group +
         R"(,"time_created_ns":)" + std::to_string(at_us * 1'000) + R"(,"op_id":)" +
         std::to_string(operations) + "}";
}

TEST_CASE("arrivals are those of the last collectives that follow one another, in each group") {
  const auto arrivals = read_arrivals(trace(
      entered(3, kDefault, 100) + "," + entered(7, kDefault, 200) + "," + entered(1, kOther, 210) +
          "," + entered(8, kDefault, 250) + "," + entered(9, kDefault, 240),
      ""));
  CHECK(arrivals == std::vector<GroupArrivals>{{"0", 7, 200, {50, 0}}, {"3", 1, 210, {}}});
}

TEST_CASE("a rank that exchanges messages with single others is not compared by its arrivals") {
  CHECK(read_arrivals(trace(entered(7, kDefault, 200) + "," + entered(8, kDefault, 210, true) +
                                "," + entered(8, kDefault, 250),
                            ""))
            .empty());
  const auto with_messages = [](int between) {
    return read_arrivals(trace(entered(7, kDefault, 200, false, 9) + "," +
                                   entered(1, kOther, 205, false, 4) + "," +
                                   entered(8, kDefault, 210, false, 10 + between),
                               ""));
  };
  CHECK(with_messages(0).size() == 2);
  CHECK(with_messages(1).empty());
}

TEST_CASE("arrivals of no more collectives are reported than fit") {
  std::string entries = entered(1, kDefault, 1);
  for (int i = 2; i <= 500; ++i) entries += "," + entered(i, kDefault, 10 * i);
  const auto arrivals = read_arrivals(trace(entries, ""));
  REQUIRE(arrivals.size() == 1);
  CHECK(arrivals[0].first == 501 - static_cast<std::int64_t>(kGroupArrivalsMax));
  CHECK(arrivals[0].at_us == 10 * arrivals[0].first);
  CHECK(arrivals[0].pauses_us == std::vector<std::int64_t>(kGroupArrivalsMax - 1, 10));
}

TEST_CASE("of what is no trace, or of no group, there are no arrivals") {
  for (const std::string& text :
       {std::string{}, std::string{"{}"}, trace("", ""), trace("7", ""),
        trace(entered(1, "[]", 1), ""), trace(entered(INT64_MAX, kDefault, 1), ""),
        trace(R"({"collective_seq_id":1})", "")})
    CHECK(read_arrivals(text).empty());
}

TEST_CASE("the status of NCCL's recorder has numbers or texts, and no entries") {
  GroupNames names;
  const auto groups = read_group_progress(
      R"({"comm_lib_version":"2.27","nccl_comm_state":{},"pg_config":{},"pg_status":{"0":)"
      R"({"last_completed_collective":5,"last_enqueued_collective":6}},"version":"2.10"})",
      names);
  REQUIRE(groups);
  CHECK(*groups == std::vector<GroupProgress>{{"0", 6, 5}});
}

TEST_CASE("a group whose last collective is retired is done, also where Gloo counted one too few") {
  GroupNames names;
  const auto groups = [&](const std::string& entries) {
    return *read_group_progress(trace(entries, at("0", 7, 6) + "," + at("1", 2, 1)), names);
  };
  const std::string other = entry(2, 1, kOther, false);
  CHECK(groups(entry(6, 0, kDefault, true) + "," + entry(7, 0, kDefault, true) + "," + other) ==
        std::vector<GroupProgress>{{"0", 7, 7}, {"3", 2, 1}});
  // One before it is still to be done: Gloo's threads do two at once.
  CHECK(groups(entry(6, 0, kDefault, false) + "," + entry(7, 0, kDefault, true) + "," + other) ==
        std::vector<GroupProgress>{{"0", 7, 6}, {"3", 2, 1}});
  // The status was written before the entry was.
  CHECK(groups(entry(6, 0, kDefault, true) + "," + other) ==
        std::vector<GroupProgress>{{"0", 7, 6}, {"3", 2, 1}});
}

TEST_CASE("what is no trace tells nothing") {
  GroupNames names;
  for (const char* text : {"", "{", "[]", R"({"pg_status":)", R"("pg_status":7})", "null"}) {
    INFO(text);
    CHECK_FALSE(read_group_progress(text, names));
    CHECK_FALSE(read_pending(text));
  }
  CHECK(read_group_progress(R"({"pg_status":{"0":7}})", names)->empty());
}

TEST_CASE("the collective that is entered and not done is the oldest that is not retired") {
  const auto pending =
      read_pending(trace(entry(6, 0, kDefault, true) + "," + entry(7, 0, kDefault, false) + "," +
                             entry(2, 1, kOther, false),
                         ""));
  REQUIRE(pending);
  CHECK(*pending == PendingCollective{"gloo:all_reduce", {"0", "default_pg"}, 7, "[[10]] Float"});
  CHECK_FALSE(read_pending(trace(entry(6, 0, kDefault, true), "")));
  std::string done = entry(6, 0, kDefault, false);
  done.replace(done.find("scheduled"), std::string{"scheduled"}.size(), "completed");
  CHECK_FALSE(read_pending(trace(done, "")));
}

TEST_CASE("messages between two ranks have numbers of their own") {
  std::string message = entry(6, 0, kDefault, false);
  message.insert(message.find(R"("retired")"), R"("is_p2p":true,"p2p_seq_id":41,)");
  const auto pending = read_pending(trace(message, ""));
  REQUIRE(pending);
  CHECK(pending->sequence == 41);
}

TEST_CASE("of a long trace only the end is read") {
  std::string entries = entry(1, 0, kDefault, false);
  for (int i = 2; i < 2000; ++i) entries += "," + entry(i, 0, kDefault, true);
  CHECK_FALSE(read_pending(trace(entries, "")));
  const auto pending = read_pending(trace(entries + "," + entry(2000, 0, kDefault, false), ""));
  REQUIRE(pending);
  CHECK(pending->sequence == 2000);
}

TEST_CASE("counters tell who waits in the store") {
  const auto counter = [](const std::string& name, int active) {
    return R"({"pytorch.wait_counter.)" + name + R"(":{"active_count":)" + std::to_string(active) +
           R"(,"total_calls":1}})";
  };
  CHECK(read_store_wait(counter("TCPStore__wait", 1)) == "wait");
  CHECK(read_store_wait(counter("c10d.init_process_group", 1)) == "init_process_group");
  CHECK(read_store_wait(counter("TCPStore__wait", 0)).empty());
  CHECK(read_store_wait("nonsense").empty());
  CHECK(read_store_wait(R"({"pytorch.wait_counter.TCPStore__wait":3})").empty());
}

}  // namespace
}  // namespace ddprun
