// A C++ exception that nobody catches.
// kind: exception
// ranks: 1
// type: std::runtime_error
// message: no such batch
// signal: SIGABRT
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

int main() {
  if (std::string{std::getenv("RANK")} == "1") throw std::runtime_error{"no such batch"};
  for (;;) pause();
}
