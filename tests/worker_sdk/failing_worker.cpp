// A worker that fails while all others are in an all-reduce: for
// tests/system/sdk_exception_test.sh.
//
//     failing_worker HOW RANK MOMENT [pending]
//
// Rank RANK fails: HOW is run_worker, uncaught, caught, segv, kill or exit. Just before, it writes
// the time to the file MOMENT, in nanoseconds since 1970. With `pending` it has begun two
// operations by then that nobody else takes part in.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <string>

#include "ddprun/process_group.hpp"
#include "ddprun/run_worker.hpp"
#include "tests/worker_sdk/test_backend.hpp"

namespace {

using namespace ddprun::sdk;

struct Arguments {
  std::string how;
  int rank = 0;
  std::string moment;
  bool pending = false;
};

void fail(const Arguments& arguments) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::ofstream{arguments.moment}
      << std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  if (arguments.how == "segv") std::raise(SIGSEGV);
  if (arguments.how == "kill") std::raise(SIGKILL);
  if (arguments.how == "exit") _exit(3);
  throw std::runtime_error{"no such batch"};
}

void train(const Arguments& arguments) {
  torch::set_num_threads(1);
  const ProcessGroup group = init_process_group({.backend = test_backend()});
  const auto other = group.new_group(group.global_ranks());
  torch::Tensor sum = torch::ones({3}, group.device());
  group.all_reduce(sum);
  if (group.rank() != arguments.rank) {
    for (;;) group.all_reduce(sum);
  }
  std::vector<Work> works;
  if (arguments.pending) {
    works.push_back(other->all_reduce_async(torch::ones({3}, group.device())));
    works.push_back(
        other->irecv(torch::ones({3}, group.device()), (group.rank() + 1) % group.size()));
    if (works.back().is_completed()) throw std::logic_error{"nobody has sent this"};
  }
  fail(arguments);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const Arguments arguments{argv[1], std::stoi(argv[2]), argv[3], argc > 4};
  if (arguments.how == "uncaught") {
    train(arguments);
  } else if (arguments.how == "caught") {
    try {
      train(arguments);
    } catch (const std::exception& e) {
      std::cerr << "failing_worker: " << e.what() << std::endl;
      return 1;
    }
  }
  return run_worker([&] { train(arguments); });
}
