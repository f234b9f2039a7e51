// The part of hang_worker that a stack has to name, by file and line.
#include <chrono>
#include <thread>

void load_batch();

void load_batch() {
  std::this_thread::sleep_for(std::chrono::minutes{10});  // HERE
}
