// A rank exits with a code, and the others crash while they tear down, because they are stopped.
// kind: exit_code
// ranks: 1
// exit_code: 3
// stopped: 0,2
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

void tear_down(int) {
  std::signal(SIGSEGV, SIG_DFL);
  std::raise(SIGSEGV);
}

int main() {
  std::signal(SIGTERM, &tear_down);
  usleep(300'000);
  if (std::string{std::getenv("RANK")} == "1") {
    std::fputs("no batch is left\n", stderr);
    return 3;
  }
  for (;;) pause();
}
