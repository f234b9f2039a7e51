// A recursion without an end in C++.
// kind: signal
// ranks: 1
// signal: SIGSEGV
#include <unistd.h>

#include <cstdlib>
#include <string>

int depth(volatile char* above) {
  volatile char here[4096];
  here[0] = above[0];
  return depth(here) + here[0];
}

int main() {
  char first = 0;
  if (std::string{std::getenv("RANK")} == "1") return depth(&first);
  for (;;) pause();
}
