// An assertion in C++ fails.
// kind: signal
// ranks: 0
// type: assertion
// message: ranks == 5
// signal: SIGABRT
#include <unistd.h>

#include <cassert>
#include <cstdlib>
#include <string>

void check(int ranks) {
  assert(ranks == 5);  // HERE
}

int main() {
  if (std::string{std::getenv("RANK")} == "0") check(3);
  for (;;) pause();
}
