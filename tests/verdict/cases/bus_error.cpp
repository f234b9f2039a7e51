// A mapped file is cut off.
// kind: signal
// ranks: 1
// signal: SIGBUS
// hint: /dev/shm
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main() {
  if (std::string{std::getenv("RANK")} == "1") {
    std::FILE* file = std::tmpfile();
    auto* bytes =
        static_cast<volatile char*>(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fileno(file), 0));
    return bytes[100];
  }
  for (;;) pause();
}
