// A collective with bad arguments fails before anything is sent. One rank is enough to test that:
// the group is of this process alone.

#include "ddprun/objects.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"
#include "worker_sdk/group/init_method.hpp"

namespace ddprun::sdk {
namespace {

class AloneFixture {
 protected:
  template <typename Call>
  std::string error(Call call) {
    try {
      call();
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "no std::invalid_argument";
  }

  ScratchFolder folder_;
  ProcessGroup group_ = init_process_group(
      {.backend = "gloo",
       .init_method = "file://" + (folder_ / "store").string() + "?rank=0&world_size=1"});
};

TEST_CASE_METHOD(AloneFixture, "an error names operation, group, rank, dtype and shape") {
  CHECK(error([&] {
          group_.all_reduce(torch::zeros({4, 3}).t());
        }) ==
        "all_reduce on group \"default\" (rank 0 of 1), float32 [3, 4]: the tensor has the strides "
        "[1, 3], which is not contiguous; call .contiguous() on it first");
  const auto named = group_.new_group({0}, {.name = "pipeline"});
  CHECK_THAT(
      error([&] { named->broadcast(torch::tensor(1), 1); }),
      contains("broadcast on group \"pipeline\" (rank 0 of 1), int64 []: root is 1, expected "
               "a rank of the group, 0 to 0"));
}

TEST_CASE_METHOD(AloneFixture,
                 "a tensor that is undefined, sparse or on another device is refused") {
  CHECK_THAT(error([&] { group_.all_reduce(torch::Tensor{}); }), contains("undefined tensor"));
  CHECK_THAT(error([&] { group_.all_reduce(torch::eye(3).to_sparse()); }), contains("to_dense()"));
  CHECK_THAT(error([&] { group_.all_reduce(torch::zeros({2}, torch::kMeta)); }),
             contains("is on meta, this group's tensors are on cpu"));
}

TEST_CASE_METHOD(AloneFixture, "lists of the wrong length, and tensors that differ, are refused") {
  const torch::Tensor one = torch::zeros({2});
  CHECK_THAT(error([&] {
               group_.all_gather({one, one}, one);
             }),
             contains("outputs has 2 tensors, expected one for each of the 1 ranks"));
  CHECK_THAT(error([&] { group_.all_gather({torch::zeros({3})}, one); }),
             contains("outputs[0] has the shape [3], expected [2]"));
  CHECK_THAT(error([&] { group_.scatter(one, {one.to(torch::kInt32)}); }),
             contains("of different dtypes, int32 and float32"));
  CHECK_THAT(error([&] { group_.gather({}, one); }), contains("outputs has 0 tensors"));
  CHECK_THAT(error([&] { group_.reduce_scatter(one, {}); }), contains("inputs has 0 tensors"));
  CHECK_THAT(error([&] { group_.all_to_all({}, {one}); }), contains("outputs has 0 tensors"));
  CHECK_THAT(error([&] { scatter_object(group_, {}); }), contains("there are 0 objects"));
}

TEST_CASE_METHOD(AloneFixture, "shapes that do not make a whole are refused") {
  CHECK_THAT(error([&] {
               group_.all_gather_into_tensor(torch::zeros({3, 2}), torch::zeros({2, 2}));
             }),
             contains("output has the shape [3, 2], expected [2, 2] or [1, 2, 2]"));
  CHECK_THAT(error([&] { group_.reduce_scatter_tensor(torch::zeros({2}), torch::zeros({5})); }),
             contains("input has the shape [5], expected [2] or [1, 2]"));
  CHECK_THAT(error([&] {
               group_.all_to_all_single(torch::zeros({4}), torch::zeros({4}), {4}, {2, 2});
             }),
             contains("the splits of input are [2, 2], expected 1 numbers that make 4 rows"));
  CHECK_THAT(error([&] { group_.all_to_all_single(torch::tensor(1), torch::tensor(1)); }),
             contains("there are no rows to split"));
}

TEST_CASE_METHOD(AloneFixture, "a reduction that the numbers cannot have is refused") {
  CHECK_THAT(error([&] { group_.all_reduce(torch::ones({2}), ReduceOp::BAND); }),
             contains("bitwise reductions need whole numbers, not float32"));
  CHECK_THAT(error([&] {
               group_.all_reduce(torch::tensor({1, 2}), ReduceOp::AVG);
             }),
             contains("need floating-point numbers, not int64"));
}

TEST_CASE_METHOD(AloneFixture, "a message to nobody, or to oneself, is refused") {
  CHECK_THAT(error([&] { group_.send(torch::ones({1}), 3); }),
             contains("peer is 3, expected a rank of the group"));
  CHECK_THAT(error([&] { group_.recv(torch::ones({1}), 0); }), contains("this rank itself"));
}

TEST_CASE_METHOD(AloneFixture, "a sub-group of nobody, of strangers or of twins is refused") {
  CHECK_THAT(error([&] { group_.new_group({}); }), contains("no ranks are given"));
  CHECK_THAT(error([&] { group_.new_group({0, 1}); }), contains("rank 1 is not one of 0 to 0"));
  CHECK_THAT(error([&] { group_.new_group({0, 0}); }), contains("rank 0 is given twice"));
}

TEST_CASE_METHOD(AloneFixture, "a place that is given twice is refused") {
  CHECK_THAT(error([&] { init_process_group({.backend = "gloo", .rank = 0}, group_.env()); }),
             contains("the worker's place is given twice"));
}

TEST_CASE_METHOD(AloneFixture, "a batch with a message that cannot be is refused as a whole") {
  CHECK_THAT(error([&] {
               group_.batch_isend_irecv({{P2POp::Kind::kSend, torch::ones({1}), 0}});
             }),
             contains("batch_isend_irecv on group \"default\" (rank 0 of 1), float32 [1]: peer is "
                      "this rank itself"));
}

TEST_CASE("an init_method is taken apart") {
  using Kind = InitMethod::Kind;
  CHECK(parse_init_method("").kind == Kind::kEnv);
  CHECK(parse_init_method("env://").kind == Kind::kEnv);
  const InitMethod tcp = parse_init_method("tcp://node1:4000?rank=2&world_size=8");
  CHECK(tcp.kind == Kind::kTcp);
  CHECK(tcp.host == "node1");
  CHECK(tcp.port == 4000);
  CHECK(tcp.rank == 2);
  CHECK(tcp.world_size == 8);
  CHECK(parse_init_method("tcp://[fe80::1]:80/").host == "fe80::1");
  const InitMethod file = parse_init_method("file:///tmp/meet?rank=0");
  CHECK(file.kind == Kind::kFile);
  CHECK(file.path == "/tmp/meet");
  CHECK_FALSE(file.world_size.has_value());
}

TEST_CASE("an init_method that makes no sense is refused, saying what was expected") {
  const auto refused = [](const std::string& text, const std::string& reason) {
    CHECK_THROWS_WITH(parse_init_method(text),
                      contains("init_method '" + text + "': " + reason) &&
                          contains("expected env://, tcp://HOST:PORT or file:///PATH"));
  };
  refused("udp://x:1", "no such way to meet");
  refused("tcp://node1", "host or port is missing");
  refused("tcp://:80", "host or port is missing");
  refused("tcp://node1:http", "port 'http' is no number from 0 to 65535");
  refused("file://", "the path is missing");
  refused("env://?rank=-1", "rank '-1' is no number from 0 up");
  refused("env://?size=2", "unknown part 'size'");
}

TEST_CASE("an address in the init_method is served by rank 0, unless it is the launcher's") {
  const auto lookup = [](const std::string& name) -> std::optional<std::string> {
    const std::map<std::string, std::string> variables{{"RANK", "1"},
                                                       {"WORLD_SIZE", "2"},
                                                       {"MASTER_ADDR", "a"},
                                                       {"MASTER_PORT", "1"},
                                                       {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional{found->second};
  };
  CHECK(place_of_worker(parse_init_method(""), lookup).use_agent_store);
  CHECK(place_of_worker(parse_init_method("tcp://a:1"), lookup).use_agent_store);
  CHECK_FALSE(place_of_worker(parse_init_method("tcp://a:2"), lookup).use_agent_store);
  const WorkerEnv given = place_of_worker(parse_init_method("tcp://b:3?rank=0"), lookup);
  CHECK_FALSE(given.use_agent_store);
  CHECK(given.rank == 0);
  CHECK(given.world_size == 2);
  CHECK(given.master_addr == "b");
  CHECK(given.master_port == 3);
}

}  // namespace
}  // namespace ddprun::sdk
