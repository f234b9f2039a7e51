// A thread is destroyed while it runs: the library ends the program without an exception.
// kind: signal
// ranks: 1
// signal: SIGABRT
// flags: -g -pthread
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

int main() {
  if (std::string{std::getenv("RANK")} == "1") std::thread{[] { pause(); }};
  for (;;) pause();
}
