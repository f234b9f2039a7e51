#include "launcher/run/signal_hold.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

volatile std::sig_atomic_t handled = 0;

// SIGUSR1 is counted, SIGUSR2 is ignored, and both are let through, as before, at the end.
class SignalFixture {
 protected:
  SignalFixture() {
    handled = 0;
    struct sigaction count {};
    count.sa_handler = [](int) { handled = handled + 1; };
    sigaction(SIGUSR1, &count, &usr1_);
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGUSR2, &ignore, &usr2_);
    sigprocmask(SIG_SETMASK, nullptr, &mask_);
  }
  ~SignalFixture() {
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
    sigaction(SIGUSR1, &usr1_, nullptr);
    sigaction(SIGUSR2, &usr2_, nullptr);
  }
  static bool is_pending(int signal) {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, signal) == 1;
  }

 private:
  sigset_t mask_;
  struct sigaction usr1_, usr2_;
};

TEST_CASE_METHOD(SignalFixture, "a signal that is held waits until somebody handles it") {
  SignalHold hold{{SIGUSR1}};
  raise(SIGUSR1);
  CHECK(handled == 0);
  CHECK(is_pending(SIGUSR1));
  hold.release();
  CHECK(handled == 1);
  hold.hold();
  raise(SIGUSR1);
  CHECK(handled == 1);
  hold.release();
  CHECK(handled == 2);
}

TEST_CASE_METHOD(SignalFixture, "signals that nobody asked to hold get through") {
  const SignalHold hold{{SIGTERM}};
  raise(SIGUSR1);
  CHECK(handled == 1);
}

TEST_CASE_METHOD(SignalFixture, "at the end a held signal interrupts and does nothing else") {
  SignalHold hold{{SIGUSR1, SIGUSR2}};
  hold.only_interrupt();
  raise(SIGUSR1);
  hold.release();
  CHECK(handled == 0);  // its handler of before is gone
  struct sigaction action {};
  sigaction(SIGUSR1, nullptr, &action);
  CHECK((action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN));
  CHECK((action.sa_flags & SA_RESTART) == 0);
  sigaction(SIGUSR2, nullptr, &action);
  CHECK(action.sa_handler == SIG_IGN);  // an ignored signal stays ignored
}

}  // namespace
}  // namespace ddprun
