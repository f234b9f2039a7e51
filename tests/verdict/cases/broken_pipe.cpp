// A rank writes into a pipe that nobody reads any more.
// kind: signal
// ranks: 1
// signal: SIGPIPE
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

int main() {
  if (std::string{std::getenv("RANK")} != "1")
    for (;;) pause();
  std::signal(SIGPIPE, SIG_DFL);
  int ends[2];
  if (pipe(ends) != 0) return 1;
  close(ends[0]);
  return write(ends[1], "x", 1) == 1 ? 0 : 2;
}
