// Threads of the SDK's own, which take no signals: those are for the threads of the program.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace ddprun::sdk {

/// Starts a thread that runs `function` with all signals blocked. Errors: std::system_error where
/// the system has no thread for it.
template <typename Function>
std::thread start_without_signals(Function function) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread{std::move(function)};
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace ddprun::sdk
