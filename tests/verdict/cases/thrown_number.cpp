// What is thrown is no exception of the library, and has no message.
// kind: exception
// ranks: 1
// type: int
// signal: SIGABRT
#include <unistd.h>

#include <cstdlib>
#include <string>

int main() {
  if (std::string{std::getenv("RANK")} == "1") throw 42;
  for (;;) pause();
}
