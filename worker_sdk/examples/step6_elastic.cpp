// Step 6: ddprun starts the workers, and starts them again when one fails:
//
//     ddprun --standalone --nproc-per-node 2 --max-restarts 3 --no-python step6_elastic FOLDER
//
// The program is that of step 4 without spawn(): ddprun has set the environment. With a number
// behind FOLDER, the last worker fails before that epoch, in the first attempt.

#include <cstdlib>
#include <ddprun/run_worker.hpp>
#include <filesystem>
#include <iostream>
#include <string>

#include "elastic_training.hpp"

namespace {

void train(const std::filesystem::path& folder, int failing_epoch) {
  torch::set_num_threads(1);
  const auto group = ddprun::sdk::init_process_group();
  toy::train_with_checkpoints(group, folder, toy::kEpochs, [&](int epoch) {
    const bool fails = group.env().restart_count == 0 && group.rank() == group.size() - 1;
    if (fails && epoch + 1 == failing_epoch) std::abort();
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::cerr << "usage: step6_elastic FOLDER [EPOCH]" << std::endl;
    return 2;
  }
  return ddprun::sdk::run_worker([&] { train(argv[1], argc == 3 ? std::stoi(argv[2]) : 0); });
}
