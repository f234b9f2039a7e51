// abort() without a word.
// kind: signal
// ranks: 2
// signal: SIGABRT
#include <unistd.h>

#include <cstdlib>
#include <string>

int main() {
  if (std::string{std::getenv("RANK")} == "2") std::abort();
  for (;;) pause();
}
