#include "ddprun/run_worker.hpp"

#include <errno.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "ddprun/worker_env.hpp"
#include "worker_sdk/group/exception_text.hpp"
#include "worker_sdk/group/last_exit.hpp"

namespace ddprun::sdk {

namespace {

void record(const ExceptionText& text) {
  const auto path = environment_lookup(env::kErrorFile);
  if (!path || path->empty()) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::ofstream file{*path, std::ios::trunc};
  file << error_record(text, std::chrono::duration_cast<std::chrono::seconds>(now).count());
  if (!file.flush())
    std::cerr << program_invocation_short_name << ": cannot write the error file '" << *path << "'"
              << std::endl;
}

/// "rank 1 of 4: ", or nothing where no launcher has set the rank.
std::string place() {
  try {
    const WorkerEnv env = WorkerEnv::from_environment();
    return "rank " + std::to_string(env.rank) + " of " + std::to_string(env.world_size) + ": ";
  } catch (const EnvironmentError&) {
    return "";
  }
}

}  // namespace

int run_worker(const std::function<void()>& train) {
  try {
    train();
    return EXIT_SUCCESS;
  } catch (...) {
    const ExceptionText text = exception_text();
    record(text);
    std::cerr << program_invocation_short_name << ": " << place() << text.whole << std::endl;
    leave_process(EXIT_FAILURE);
  }
}

}  // namespace ddprun::sdk
