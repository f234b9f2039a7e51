// Every collective against its definition. ddprun runs this program on several ranks, which all go
// through the same test cases in the same order.

#include "tests/support/catch.hpp"
#include "tests/worker_sdk/group_fixture.hpp"

namespace ddprun::sdk {
namespace {

/// What rank `rank` gives: different numbers on every rank and at every place.
torch::Tensor given_by(int rank, std::vector<std::int64_t> shape = {2, 3},
                       torch::ScalarType type = torch::kFloat32) {
  const std::int64_t count = c10::multiply_integers(shape);
  return (torch::arange(count) + 1 + 3 * rank).reshape(shape).to(group().device(), type);
}

/// [size, ...]: what all ranks give.
torch::Tensor given_by_all(std::vector<std::int64_t> shape = {2, 3},
                           torch::ScalarType type = torch::kFloat32) {
  Tensors all;
  for (int rank = 0; rank < group().size(); ++rank) all.push_back(given_by(rank, shape, type));
  return torch::stack(all);
}

struct Case {
  std::string name;
  ReduceOp op;
  torch::ScalarType type;
  std::function<torch::Tensor(const torch::Tensor& of_all)> expected;  // over the ranks, dim 0
};

torch::Tensor fold(const torch::Tensor& all,
                   torch::Tensor (*step)(const torch::Tensor&, const torch::Tensor&)) {
  torch::Tensor result = all[0];
  for (std::int64_t i = 1; i < all.size(0); ++i) result = step(result, all[i]);
  return result;
}

std::vector<Case> reductions() {
  std::vector<Case> cases{
      {"SUM", ReduceOp::SUM, torch::kFloat32, [](const auto& all) { return all.sum(0); }},
      {"SUM", ReduceOp::SUM, torch::kInt64, [](const auto& all) { return all.sum(0); }},
      {"SUM", ReduceOp::SUM, torch::kFloat64, [](const auto& all) { return all.sum(0); }},
      {"SUM", ReduceOp::SUM, torch::kBFloat16, [](const auto& all) { return all.sum(0); }},
      {"AVG", ReduceOp::AVG, torch::kFloat32, [](const auto& all) { return all.mean(0); }},
      {"PRODUCT", ReduceOp::PRODUCT, torch::kFloat32, [](const auto& all) { return all.prod(0); }},
      {"MIN", ReduceOp::MIN, torch::kFloat32, [](const auto& all) { return all.amin(0); }},
      {"MAX", ReduceOp::MAX, torch::kInt32, [](const auto& all) { return all.amax(0); }},
      {"premul_sum", premul_sum(0.5), torch::kFloat32,
       [](const auto& all) { return all.sum(0) * 0.5; }},
  };
  if (group().device().is_cuda()) return cases;  // NCCL has no operations on bits
  cases.insert(cases.end(), {
                                {"BAND", ReduceOp::BAND, torch::kInt64,
                                 [](const auto& all) { return fold(all, torch::bitwise_and); }},
                                {"BOR", ReduceOp::BOR, torch::kInt64,
                                 [](const auto& all) { return fold(all, torch::bitwise_or); }},
                                {"BXOR", ReduceOp::BXOR, torch::kInt64,
                                 [](const auto& all) { return fold(all, torch::bitwise_xor); }},
                            });
  return cases;
}

TEST_CASE("all_reduce gives everybody the reduction of all tensors, with every op") {
  for (const Case& one : reductions()) {
    INFO(one.name << " of " << c10::toString(one.type));
    const torch::Tensor tensor = given_by(group().rank(), {2, 3}, one.type);
    group().all_reduce(tensor, one.op);
    CHECK(torch::allclose(tensor, one.expected(given_by_all({2, 3}, one.type))));
  }
}

TEST_CASE("reduce gives the reduction to the root alone") {
  const int root = group().size() - 1;
  for (const Case& one : reductions()) {
    INFO(one.name << " of " << c10::toString(one.type));
    const torch::Tensor tensor = given_by(group().rank(), {2, 3}, one.type);
    CHECK_NOTHROW(group().reduce(tensor, root, one.op));
    if (group().rank() == root)
      CHECK(torch::allclose(tensor, one.expected(given_by_all({2, 3}, one.type))));
  }
}

TEST_CASE("reduce_scatter and reduce_scatter_tensor give each rank its part of the reduction") {
  for (const Case& one : reductions()) {
    INFO(one.name << " of " << c10::toString(one.type));
    const std::vector<std::int64_t> shape{group().size() * 2, 3};
    const torch::Tensor input = given_by(group().rank(), shape, one.type);
    const torch::Tensor before = input.clone();
    const torch::Tensor expected =
        one.expected(given_by_all(shape, one.type)).narrow(0, 2 * group().rank(), 2);
    const torch::Tensor output = torch::empty({2, 3}, input.options());
    group().reduce_scatter_tensor(output, input, one.op);
    CHECK(torch::allclose(output, expected));
    output.zero_();
    group().reduce_scatter_tensor(output, input.view({group().size(), 2, 3}), one.op);
    CHECK(torch::allclose(output, expected));
    output.zero_();
    group().reduce_scatter(output, input.chunk(group().size()), one.op);
    CHECK(torch::allclose(output, expected));
    CHECK(torch::equal(input, before));
  }
}

TEST_CASE("broadcast gives everybody the tensor of the root, whichever it is") {
  for (int root = 0; root < group().size(); ++root) {
    const torch::Tensor tensor = given_by(group().rank());
    group().broadcast(tensor, root);
    CHECK(torch::equal(tensor, given_by(root)));
  }
}

TEST_CASE("all_gather and all_gather_into_tensor give everybody the tensors of all") {
  const torch::Tensor input = given_by(group().rank());
  CHECK(torch::equal(torch::stack(group().all_gather(input)), given_by_all()));
  const torch::Tensor stacked = torch::empty({group().size(), 2, 3}, here());
  group().all_gather_into_tensor(stacked, input);
  CHECK(torch::equal(stacked, given_by_all()));
  const torch::Tensor in_a_row = torch::empty({group().size() * 2, 3}, here());
  group().all_gather_into_tensor(in_a_row, input);
  CHECK(torch::equal(in_a_row, given_by_all().flatten(0, 1)));
}

TEST_CASE("gather gives the root the tensors of all, and the others nothing") {
  for (int root = 0; root < group().size(); ++root) {
    const Tensors outputs = group().gather(given_by(group().rank()), root);
    if (group().rank() == root)
      CHECK(torch::equal(torch::stack(outputs), given_by_all()));
    else
      CHECK(outputs.empty());
  }
}

TEST_CASE("scatter gives each rank its tensor of the root") {
  for (int root = 0; root < group().size(); ++root) {
    Tensors inputs;
    for (int rank = 0; group().rank() == root && rank < group().size(); ++rank)
      inputs.push_back(given_by(10 * root + rank));
    const torch::Tensor output = torch::zeros({2, 3}, here());
    group().scatter(output, inputs, root);
    CHECK(torch::equal(output, given_by(10 * root + group().rank())));
  }
}

TEST_CASE("all_to_all exchanges tensors, whose shapes may differ from pair to pair") {
  const int size = group().size();
  Tensors inputs, outputs;
  for (int peer = 0; peer < size; ++peer) {
    inputs.push_back(given_by(size * group().rank() + peer, {peer + 1, 2}));
    outputs.push_back(torch::zeros({group().rank() + 1, 2}, here()));
  }
  group().all_to_all(outputs, inputs);
  for (int peer = 0; peer < size; ++peer)
    CHECK(torch::equal(outputs[peer],
                       given_by(size * peer + group().rank(), {group().rank() + 1, 2})));
}

TEST_CASE("all_to_all_single exchanges the parts of one tensor, equal or not") {
  const int size = group().size();
  const int rank = group().rank();
  const torch::Tensor input = given_by(rank, {size, 2});
  const torch::Tensor output = torch::zeros({size, 2}, here());
  group().all_to_all_single(output, input);
  CHECK(torch::equal(output, given_by_all({size, 2}).select(1, rank)));

  // To rank i go i + 1 rows: 1 + 2 + ... + size in all.
  std::vector<std::int64_t> to_each, from_each(size, rank + 1);
  for (int peer = 0; peer < size; ++peer) to_each.push_back(peer + 1);
  const std::int64_t rows = size * (size + 1) / 2;
  const torch::Tensor uneven = torch::zeros({size * (rank + 1), 2}, here());
  group().all_to_all_single(uneven, given_by(rank, {rows, 2}), from_each, to_each);
  Tensors expected;
  for (int peer = 0; peer < size; ++peer)
    expected.push_back(given_by(peer, {rows, 2}).narrow(0, rank * (rank + 1) / 2, rank + 1));
  CHECK(torch::equal(uneven, torch::cat(expected)));
}

TEST_CASE("nobody leaves a barrier before all have entered it") {
  for (const bool monitored : {false, true}) {
    const std::string key = monitored ? "monitored" : "plain";
    const auto store = group().store();
    store->add(key, 1);
    if (monitored)
      group().monitored_barrier();
    else
      group().barrier();
    CHECK(store->add(key, 0) == group().size());
  }
}

TEST_CASE("a monitored barrier leaves nothing in the store") {
  group().monitored_barrier();
  group().barrier();
  const auto before = group().store()->getNumKeys();
  group().barrier();
  for (int i = 0; i < 3; ++i) group().monitored_barrier();
  group().barrier();
  CHECK(group().store()->getNumKeys() == before);
}

TEST_CASE("asynchronous operations overlap, and are done when they have been waited for") {
  std::vector<torch::Tensor> tensors;
  std::vector<Work> works;
  for (int i = 0; i < 8; ++i) {
    tensors.push_back(torch::full({1000}, i + group().rank(), here()));
    works.push_back(group().all_reduce_async(tensors.back(), ReduceOp::AVG));
  }
  wait_all(works);
  for (int i = 0; i < 8; ++i) {
    CHECK(works[i].is_completed());
    works[i].wait();  // a second time changes nothing
    CHECK(torch::allclose(tensors[i], torch::full({1000}, i + (group().size() - 1) / 2.0, here())));
  }
}

TEST_CASE("tensors without elements, scalars and those of one element are no exception") {
  const torch::Tensor scalar = torch::tensor(group().rank() + 1.0, here(torch::kFloat64));
  group().all_reduce(scalar);
  CHECK(scalar.item<double>() == group().size() * (group().size() + 1) / 2.0);
  const torch::Tensor empty = torch::empty({0, 3}, here());
  group().all_reduce(empty);
  group().broadcast(empty);
  const torch::Tensor gathered = torch::zeros({group().size()}, here(torch::kFloat64));
  group().all_gather_into_tensor(gathered,
                                 torch::tensor(1.0 * group().rank(), here(torch::kFloat64)));
  CHECK(torch::equal(gathered, torch::arange(group().size(), here(torch::kFloat64))));
}

TEST_CASE("a dtype that the backend lacks is an error that names it, and harms nobody") {
  CHECK_THROWS_WITH(group().all_reduce(torch::zeros({2}, here(torch::kInt16))),
                    contains("all_reduce on group \"default\"") && contains("int16 [2]: "));
  const torch::Tensor sum = torch::tensor(1, here(torch::kInt64));
  group().all_reduce(sum);
  CHECK(sum.item<int>() == group().size());
}

TEST_CASE("parameters that are trained can be reduced and broadcast") {
  torch::nn::Linear layer{2, 2};
  layer->to(group().device());
  group().broadcast(layer->weight);
  group().all_reduce(layer->weight, ReduceOp::AVG);
  group().all_reduce(layer->bias, premul_sum(2));
  CHECK(layer->weight.requires_grad());
  CHECK(layer->weight.is_leaf());
}

}  // namespace
}  // namespace ddprun::sdk
