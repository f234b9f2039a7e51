// The heap is broken: glibc ends the program.
// kind: signal
// ranks: 1
// type: heap corruption
// signal: SIGABRT
#include <unistd.h>

#include <cstdlib>
#include <string>

int main() {
  if (std::string{std::getenv("RANK")} == "1") {
    void* block = std::malloc(5000);
    std::free(block);
    std::free(block);
  }
  for (;;) pause();
}
