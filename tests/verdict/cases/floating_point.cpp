// A division by zero in native code.
// kind: signal
// ranks: 2
// signal: SIGFPE
#include <unistd.h>

#include <cstdlib>
#include <string>

int main(int argc, char**) {
  if (std::string{std::getenv("RANK")} == "2") return 7 / (argc - 1);
  for (;;) pause();
}
