// A check of the standard library fails, of a program that is built with them.
// kind: signal
// ranks: 0
// signal: SIGABRT
// sentence: __n < this->size()
// flags: -g -D_GLIBCXX_ASSERTIONS
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

int main() {
  const std::vector<int> losses(3);
  if (std::string{std::getenv("RANK")} == "0") return losses[losses.size() + 1];
  for (;;) pause();
}
