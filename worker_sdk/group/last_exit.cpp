#include "worker_sdk/group/last_exit.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <vector>

namespace ddprun::sdk {

void leave_process(int code) {
  if (ftrylockfile(stdout) == 0) std::cout.flush();  // else a thread is writing there
  // As exit() does it. fflush(nullptr) would wait for every file that a thread is just reading.
  fcloseall();
  _exit(code);
}

void abandon(c10::intrusive_ptr<c10d::ProcessGroup> group) {
  static std::mutex mutex;
  static auto& abandoned = *new std::vector<c10::intrusive_ptr<c10d::ProcessGroup>>;
  const std::lock_guard lock{mutex};
  // Threads of the group still run: they must not meet what static destructors leave behind.
  if (abandoned.empty()) on_exit([](int code, void*) { leave_process(code); }, nullptr);
  abandoned.push_back(std::move(group));
}

}  // namespace ddprun::sdk
