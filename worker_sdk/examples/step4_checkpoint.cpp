// Step 4: checkpoints. The first half of the training is saved; a second pair of workers loads it
// and goes on. See elastic_training.hpp.
//
//     step4_checkpoint FOLDER

#include <ddprun/run_worker.hpp>
#include <ddprun/spawn.hpp>
#include <iostream>

#include "elastic_training.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: step4_checkpoint FOLDER" << std::endl;
    return 2;
  }
  return ddprun::sdk::run_worker([&] {
    for (const int epochs : {toy::kEpochs / 2, toy::kEpochs}) {
      const auto train = [&](int) {
        torch::set_num_threads(1);
        const auto group = ddprun::sdk::init_process_group();
        toy::train_with_checkpoints(group, argv[1], epochs);
      };
      ddprun::sdk::spawn(train, toy::kWorkers);
    }
  });
}
