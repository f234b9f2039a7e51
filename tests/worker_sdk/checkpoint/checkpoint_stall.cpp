// For scripts/bench: how long a training waits for a checkpoint. Makes a network with Adam's state,
// then obeys a line each of standard input and answers with milliseconds:
//
//     memcpy        one memcpy(3) of all of the state, into memory as warm as the checkpointer's
//     asynchronous  save(), the one before being on disk
//     fsync, none   save() that returns when it is on disk, or in the page cache
//
//     checkpoint_stall FOLDER MEGABYTES

#include <chrono>
#include <cstring>
#include <iostream>
#include <string>

#include "ddprun/checkpointer.hpp"
#include "ddprun/module_state.hpp"
#include "ddprun/optimizer_state.hpp"
#include "worker_sdk/checkpoint/staging_buffer.hpp"

namespace {

using namespace ddprun::sdk;
using Clock = std::chrono::steady_clock;

constexpr int kLayers = 24;

/// Parameters of a third of the state's size: Adam keeps two numbers for each.
struct Network : torch::nn::Module {
  explicit Network(std::int64_t megabytes) {
    const std::int64_t elements = megabytes * 1'000'000 / 3 / kLayers / 4;
    for (int i = 0; i < kLayers; ++i)
      register_parameter("layer" + std::to_string(i), torch::rand({elements}));
  }
};

class Stall {
 public:
  Stall(const std::string& folder, std::int64_t megabytes, const ProcessGroup& group)
      : folder_{folder}, group_{group}, network_{megabytes} {
    for (auto& parameter : network_.parameters())
      parameter.mutable_grad() = torch::ones_like(parameter);
    optimizer_.step();
    optimizer_.zero_grad();
    background_.load_latest(network_, optimizer_);
    background_.wait();
  }

  double obey(const std::string& order) {
    if (order == "memcpy") return memcpy_all();
    if (order == "asynchronous") {
      const double took = timed([&] { save(background_); });
      background_.wait();
      return took;
    }
    Checkpointer foreground{
        folder_ + "/" + order,
        group_,
        {.keep = 1,
         .asynchronous = false,
         .durability = order == "fsync" ? Durability::kFsync : Durability::kNone}};
    return timed([&] { save(foreground); });
  }

 private:
  template <typename Work>
  static double timed(Work work) {
    const auto start = Clock::now();
    work();
    return std::chrono::duration<double, std::milli>{Clock::now() - start}.count();
  }

  void save(Checkpointer& to) { to.save(network_, optimizer_, {.step = ++step_}); }

  double memcpy_all() {
    auto tensors = state_dict(network_);
    tensors.merge(optimizer_state(optimizer_));
    std::size_t bytes = 0;
    for (const auto& [name, tensor] : tensors) bytes += tensor.nbytes();
    std::byte* next = copy_.reserve(bytes, false);
    return timed([&] {
      for (const auto& [name, tensor] : tensors) {
        std::memcpy(next, tensor.const_data_ptr(), tensor.nbytes());
        next += tensor.nbytes();
      }
    });
  }

  std::string folder_;
  const ProcessGroup& group_;
  Network network_;
  torch::optim::Adam optimizer_{network_.parameters(), torch::optim::AdamOptions{1e-3}};
  Checkpointer background_{folder_ + "/asynchronous", group_, {.keep = 1}};
  StagingBuffer copy_;
  std::int64_t step_ = 0;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw std::invalid_argument{"usage: checkpoint_stall FOLDER MEGABYTES"};
  const ProcessGroup group = init_process_group({.backend = "gloo"});
  Stall stall{argv[1], std::stoll(argv[2]), group};
  for (std::string order; std::getline(std::cin, order);)
    std::cout << stall.obey(order) << std::endl;
  return 0;
} catch (const std::exception& e) {
  std::cerr << "checkpoint_stall: " << e.what() << std::endl;
  return 1;
}
