// Requests to etcd, and how its answers are read. They are as etcd 3.4 gives them.
#include "rendezvous/etcd/etcd_text.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

const EtcdKeys kKeys = keys_of("/ddprun", "j");

template <typename Answer>
Answer read(const EtcdRequest& request, std::string_view body, unsigned status = 200) {
  const auto answer = answer_of(request, status, body);
  REQUIRE(answer.has_value());
  REQUIRE(std::holds_alternative<Answer>(*answer));
  return std::get<Answer>(*answer);
}
std::string failure(const EtcdRequest& request, std::string_view body, unsigned status = 200) {
  const auto answer = answer_of(request, status, body);
  return answer ? "no failure" : answer.error().message;
}

TEST_CASE("the keys of a job lie under the prefix and its name") {
  CHECK(kKeys.coordinator == "/ddprun/j/coordinator");
  CHECK(kKeys.members == "/ddprun/j/members");
}

TEST_CASE("a lease is asked for with its seconds in a text") {
  const EtcdPost post = post_of(GrantLease{5s}, kKeys, "h:1");
  CHECK(post.path == "/v3/lease/grant");
  CHECK(post.body == R"({"TTL":"5"})");
  CHECK(post_of(KeepLease{7}, kKeys, "h:1").body == R"({"ID":"7"})");
}

TEST_CASE("the key is taken only from the epoch that was read, or when it is not there") {
  const EtcdPost post = post_of(TakeKey{0, 9}, kKeys, "h:1");
  CHECK(post.path == "/v3/kv/txn");
  // echo -n /ddprun/j/coordinator | base64, and the same of {"endpoint":"h:1"}
  CHECK_THAT(post.body, contains(R"("key":"L2RkcHJ1bi9qL2Nvb3JkaW5hdG9y")"));
  CHECK_THAT(post.body, contains(R"("mod_revision":"0")"));
  CHECK_THAT(post.body, contains(R"("value":"eyJlbmRwb2ludCI6Img6MSJ9")"));
  CHECK_THAT(post.body, contains(R"("lease":"9")"));
  CHECK_THAT(post_of(TakeKey{12, 9}, kKeys, "h:1").body, contains(R"("mod_revision":"12")"));
}

TEST_CASE("members are written only by the coordinator, and over the record that it knows") {
  const EtcdPost post = post_of(PutMembers{12, {12, {"n1"}, "", 34, 3}, 9}, kKeys, "h:1");
  CHECK_THAT(post.body, contains(R"("mod_revision":"12")"));
  CHECK_THAT(post.body, contains(R"("mod_revision":"34")"));
  // The value is {"attempt":3,"epoch":12,"nodes":["n1"]}.
  CHECK_THAT(post.body, contains("eyJhdHRlbXB0IjozLCJlcG9jaCI6MTIsIm5vZGVzIjpbIm4xIl19"));
}

TEST_CASE("answers about leases are read, and one that is gone has no time left") {
  const auto granted =
      read<LeaseGranted>(GrantLease{5s}, R"({"header":{},"ID":"7587879461431943700","TTL":"5"})");
  CHECK(granted.lease == 7'587'879'461'431'943'700);
  CHECK(granted.ttl == 5s);
  CHECK(read<LeaseKept>(KeepLease{7}, R"({"result":{"header":{},"ID":"7","TTL":"5"}})").ttl == 5s);
  CHECK(read<LeaseKept>(KeepLease{7}, R"({"result":{"header":{},"ID":"7"}})").ttl == 0s);
}

TEST_CASE("both keys are read, and none where there is none") {
  const auto none = read<KeysRead>(
      ReadKeys{}, R"({"header":{},"succeeded":true,"responses":[{"response_range":{"header":{}}},
                      {"response_range":{"header":{}}}]})");
  CHECK_FALSE(none.holder);
  CHECK(none.members == MembersRecord{});
  // The value of the second is {"epoch":12,"nodes":["n1","n2"],"attempt":3}.
  const auto both = read<KeysRead>(
      ReadKeys{}, R"({"header":{},"succeeded":true,"responses":[{"response_range":{"kvs":[{
        "key":"eA==","create_revision":"3","mod_revision":"12","value":"eyJlbmRwb2ludCI6Img6MSJ9"}],
        "count":"1"}},{"response_range":{"kvs":[{"key":"eA==","mod_revision":"13","value":
        "eyJlcG9jaCI6MTIsIm5vZGVzIjpbIm4xIiwibjIiXSwiYXR0ZW1wdCI6M30="}],"count":"1"}}]})");
  REQUIRE(both.holder);
  CHECK(*both.holder == KeyHolder{12, "h:1"});
  CHECK(both.members == MembersRecord{12, {"n1", "n2"}, "", 13, 3});
}

TEST_CASE("the epoch of the key's owner is the revision at which it was taken") {
  const auto taken =
      read<KeyTaken>(TakeKey{0, 9}, R"({"header":{"revision":"44"},"succeeded":true,"responses":[
        {"response_put":{}},{"response_range":{}}]})");
  CHECK(taken.epoch == 44);
  const auto lost = read<KeysRead>(
      TakeKey{0, 9}, R"({"header":{"revision":"44"},"responses":[{"response_range":{"kvs":[{
        "mod_revision":"12","value":"eyJlbmRwb2ludCI6Img6MSJ9"}]}},{"response_range":{}}]})");
  CHECK(lost.holder->endpoint == "h:1");
}

TEST_CASE("the message about a refused request has etcd's words") {
  CHECK(
      failure(
          TakeKey{0, 9},
          R"({"error":"etcdserver: requested lease not found","message":"etcdserver: requested\nlease not found","code":5})",
          404) == "etcd says: etcdserver: requested\\x0alease not found");
  CHECK_THAT(failure(KeepLease{7}, R"({"error":{"message":"no leader"}})"), contains("etcd says"));
}

TEST_CASE("what is no etcd is called so") {
  CHECK_THAT(failure(ReadKeys{}, "<html>", 404), contains("status 404 of HTTP"));
  CHECK_THAT(failure(ReadKeys{}, "<html>"), contains("does not answer as etcd does"));
  CHECK_THAT(failure(ReadKeys{}, "[]"), contains("does not answer as etcd does"));
  CHECK_THAT(failure(ReadKeys{}, "{}"), contains("does not answer as etcd does"));
  CHECK_THAT(
      failure(ReadKeys{}, R"({"responses":[{"response_range":{"kvs":[{"value":"!"}]}},{}]})"),
      contains("does not answer as etcd does"));
}

}  // namespace
}  // namespace ddprun
